/** Summaries of archive files are reused while the file is unchanged and rebuilt otherwise. */
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArchiveSummaries, type SummarisedArchive } from '../../admin/reconcile/archive-summaries.ts';
import { ArchiveEngine } from '../../gateway/commerce/history/engine.ts';
import { query } from '../build/archive/archive-contents.ts';

const DAYS = ['2026-11-18', '2026-11-19', '2026-11-20'];

describe('archive summaries', () => {
  let dir: string;
  let now = 1_000_000;
  const engine = new ArchiveEngine({ memoryMb: 128, threads: 1, timeoutMs: 20_000 });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'alm-summaries-'));
    await mkdir(join(dir, 'archive', 'usage'), { recursive: true });
    for (const date of DAYS) await writeUsage(date, 1);
  });
  afterAll(async () => {
    await engine.close();
    await rm(dir, { recursive: true, force: true });
  });

  const fileOf = (date: string): string => join(dir, 'archive', 'usage', `${date}.parquet`);
  const writeUsage = (date: string, credits: number) =>
    query(`COPY (SELECT 'acc_a' AS account_id, '/v1/data' AS route, 1::BIGINT AS requests, 0::BIGINT AS errors,
      1::BIGINT AS "rows", ${credits}::BIGINT AS credits) TO '${fileOf(date)}' (FORMAT parquet)`);
  const refresh = (reread_ms: number): Promise<SummarisedArchive> => {
    now += 1_000;
    return new ArchiveSummaries(join(dir, 'archive'), join(dir, 'kept'), engine, () => now).refresh({
      reread_ms,
    });
  };
  it('are rebuilt for a changed file whatever its mtime, and deleted with their file', async () => {
    const { usage } = await refresh(0);
    const [one] = usage;
    await writeUsage(DAYS[0] ?? '', 5);
    await utimes(fileOf(DAYS[0] ?? ''), 1, 1);
    const changed = await refresh(0);
    expect(changed.usage[0]?.file).not.toBe(one?.file);
    expect(await query(`SELECT used FROM read_parquet('${changed.usage[0]?.file}')`)).toEqual([
      { used: '5' },
    ]);
    await rm(fileOf(DAYS[2] ?? ''));
    await writeFile(join(dir, 'kept', 'left-behind.parquet.0a-0b.new'), '');
    expect((await refresh(0)).usage).toHaveLength(2);
    expect(await readdir(join(dir, 'kept'))).toHaveLength(2);
  });
});
