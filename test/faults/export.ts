/**
 * The data export of an account with a ledger of two million entries, half of them archived: it must be complete, and
 * need no more memory than that of a short ledger.
 */
import { mkdtempDisposable, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as yauzl from 'yauzl';
import { runArchive } from '../../build/archive/run-archive.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { addDebits, openLedger, prepareExport, requestExport } from '../gateway/commerce/long-ledger.ts';
import { silentLog, startRedis } from '../redis.ts';
import type { Reporter } from './table.ts';

export interface ExportScale {
  entries: number;
  /** Limit of the program's heap. */
  heap_mb: number;
}

const FULL: ExportScale = { entries: 2_000_000, heap_mb: 96 };
/** Beyond the memory of the program before it begins: pages, compression, DuckDB. */
const MORE_AT_MOST_MB = 400;
const DAY_MS = 86_400_000;

export default async function exportFaults(
  report: Reporter,
  { entries, heap_mb }: ExportScale = FULL,
): Promise<void> {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'alm-export-'));
  await using server = await startRedis({ dedicated: true });
  const environment = { ...server.settings, VAR_DIR: directory.path, LEDGER_LIVE_DAYS: '1' };
  const settings = readSettings({ ...environment, LOG_LEVEL: 'silent' });
  const redis = await server.connect();
  const account_id = await openLedger(redis, entries);
  await addDebits(redis, account_id, entries / 2 - 1);
  await runArchive({ redis, settings, now: () => Date.now() + 3 * DAY_MS, log: silentLog });
  await addDebits(redis, account_id, entries / 2, Date.now() + DAY_MS);
  const request_id = await requestExport(redis, account_id);
  const { seconds, base_mb, peak_mb } = await prepareExport(request_id, environment, heap_mb);
  const file = join(settings.EXPORT_DIR, `${request_id}.zip`);
  const found = await readLedger(file);
  const size_mb = (await stat(file)).size / 2 ** 20;
  report(
    'A data export is complete, in bounded memory, whatever the length of the ledger',
    `${count(found.entries)} of ${count(entries)} entries, ${count(entries / 2)} of them archived, ` +
      `${found.faults} out of sequence; ${size_mb.toFixed(0)} MB of zip in ${seconds.toFixed(0)} s; ` +
      `resident memory ${base_mb.toFixed(0)} MB before, at most ${peak_mb.toFixed(0)} MB; heap limited to ${heap_mb} MB`,
    found.entries === entries && found.faults === 0 && peak_mb < base_mb + MORE_AT_MOST_MB,
  );
}

/** Counts the entries and those whose balance does not follow from the one before. Newest first. */
async function readLedger(file: string): Promise<{ entries: number; faults: number }> {
  const zip = await yauzl.openPromise(file, { lazyEntries: true });
  const found = { entries: 0, faults: 0 };
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName !== 'ledger.ndjson') continue;
    let expected: number | null = null;
    for await (const line of createInterface({ input: await zip.openReadStreamPromise(entry) })) {
      const { balance, delta } = JSON.parse(line);
      if (expected !== null && balance !== expected) found.faults += 1;
      expected = balance - delta;
      found.entries += 1;
    }
    if (expected !== 0) found.faults += 1;
  }
  return found;
}

const count = (entries: number): string => entries.toLocaleString('en');
