/** Revisions read from the files of editions: shared ones, damaged ones, and those that an origin still has. */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, expect, test } from 'vitest';
import { EDITION_REVISION_COLUMNS } from '../../../../data/schema/editions.ts';
import { type FileRef, objectPath } from '../../../../data/schema/snapshot.ts';
import { readRevisions } from '../../../../gateway/api/snapshot/editions/revisions.ts';
import {
  type ObjectOrigin,
  Objects,
  SnapshotUnreadable,
} from '../../../../gateway/api/snapshot/files/snapshot-files.ts';
import { QueryRunner } from '../../../../gateway/api/snapshot/rows/query-runner.ts';
import { useDirectory } from '../../../after-tests.ts';

const files: FileRef[] = [];
const directory = await useDirectory();
const queries = await QueryRunner.open(60_000);
afterAll(() => queries.close());
const flip = await revisions([
  ['KEN', 2020, 1, 2],
  ['KEN', 2021, null, 5],
  ['USA', 2020, 8, 9],
]);
const flop = await revisions([
  ['KEN', 2020, 2, 1],
  ['KEN', 2021, 5, null],
]);
files.push(flip, flop);

type Revision = [iso3: string, year: number, old_value: number | null, new_value: number | null];

async function store(bytes: Buffer): Promise<FileRef> {
  const ref = { bytes: bytes.length, sha256: hash('sha256', bytes) };
  const path = join(directory, objectPath(ref.sha256));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  return ref;
}

async function revisions(rows: Revision[]): Promise<FileRef> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const columns = Object.entries(EDITION_REVISION_COLUMNS).map(([name, type]) => `${name} ${type}`);
  await connection.run(`CREATE TABLE rows (${columns.join(', ')})`);
  for (const row of rows)
    await connection.run('INSERT INTO rows (iso3, year, old_value, new_value) VALUES (?, ?, ?, ?)', row);
  const path = join(directory, 'written.parquet');
  await connection.run(`COPY rows TO '${path}' (FORMAT parquet)`);
  return store(await readFile(path));
}

function reading(origin: ObjectOrigin | null = null) {
  const unreadable: string[] = [];
  const shared = {
    objects: new Objects(directory, origin),
    queries,
    onUnreadable: (_name: string, { sha256 }: FileRef) => void unreadable.push(sha256),
  };
  const [flip, flop] = files;
  if (!flip || !flop) throw new Error('no files');
  // Revised back and forth, so that two editions share a file.
  const steps = [flip, flop, flip].map((revisions, at) => ({ edition: at + 1, revisions }));
  const filter = { countries: ['KEN'], from: 2020, to: 2021 };
  return { found: readRevisions(shared, steps, filter), unreadable, flip };
}

test('those of all editions, by country, year and edition', async () => {
  const rows = (await reading().found).map(({ iso3, year, edition, old, new: now }) => [
    ...[iso3, year, edition, old?.value ?? null, now?.value ?? null],
  ]);
  expect(rows).toEqual([
    ['KEN', 2020, 1, 1, 2],
    ['KEN', 2020, 2, 2, 1],
    ['KEN', 2020, 3, 1, 2],
    ['KEN', 2021, 1, null, 5],
    ['KEN', 2021, 2, 5, null],
    ['KEN', 2021, 3, null, 5],
  ]);
});

test('a damaged file is named, and its answer is unavailable', async () => {
  const path = join(directory, objectPath(files[0]?.sha256 ?? ''));
  const bytes = await readFile(path);
  await writeFile(path, 'PAR1 something else');
  const { found, unreadable, flip } = reading();
  await expect(found).rejects.toBeInstanceOf(SnapshotUnreadable);
  expect(unreadable).toEqual([flip.sha256]);
  await writeFile(path, bytes);
  expect(await reading().found).toHaveLength(6);
});

test('fetches what is not here from the origin that is followed', async () => {
  const fetched: string[] = [];
  const pathOf = (ref: FileRef): string => join(directory, objectPath(ref.sha256));
  const contents = new Map(
    await Promise.all(files.map(async (ref) => [ref.sha256, await readFile(pathOf(ref))] as const)),
  );
  for (const ref of files) await rm(pathOf(ref));
  const origin: ObjectOrigin = {
    async ensure(refs) {
      for (const ref of refs) {
        const content = contents.get(ref.sha256);
        if (content === undefined || existsSync(pathOf(ref))) continue;
        await writeFile(pathOf(ref), content);
        fetched.push(ref.sha256);
      }
    },
  };
  const { found, unreadable } = reading(origin);
  expect(await found).toHaveLength(6);
  expect(fetched.toSorted()).toEqual(files.map(({ sha256 }) => sha256).toSorted());
  expect(unreadable).toEqual([]);
});

test('what cannot be fetched is unavailable', async () => {
  const refuse = async (): Promise<void> => {
    throw new Error('the origin is away');
  };
  await expect(reading({ ensure: refuse }).found).rejects.toBeInstanceOf(SnapshotUnreadable);
});
