/** What figures were before, from the revisions of editions, on real Parquet. */
import { hash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  EDITION_REVISION_COLUMNS,
  type EditionChanges,
  type FileRef,
  type LogEntry,
  objectPath,
} from '../../../data/schema/snapshot.ts';
import { type ObjectOrigin, Objects, SnapshotUnreadable } from '../../../gateway/snapshot/objects.ts';
import { ParsedObjects } from '../../../gateway/snapshot/parsed-objects.ts';
import { QueryRunner } from '../../../gateway/snapshot/query-runner.ts';
import { RevisionIndex } from '../../../gateway/snapshot/revision-index.ts';

let directory: string;
let queries: QueryRunner;
let chain: LogEntry[];
const files: FileRef[] = [];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'alm-revisions-'));
  queries = await QueryRunner.open(60_000);
  const flip = await revisions([
    ['KEN', 2020, 1, 2],
    ['KEN', 2021, null, 5],
    ['USA', 2020, 8, 9],
  ]);
  const flop = await revisions([
    ['KEN', 2020, 2, 1],
    ['KEN', 2021, 5, null],
  ]);
  const bounds = await revisions([['KEN', 2020, 2, 2]]);
  files.push(flip, flop, bounds);
  // Renamed in the fourth edition, and revised back and forth, so that two editions share a file.
  chain = [
    entry('one', null, null),
    entry('two', 'one', await changes({ revised: { 'a.old': flip } })),
    entry('three', 'two', await changes({ revised: { 'a.old': flop, 'a.new': bounds } })),
    entry('four', 'three', await changes({ renamed: [{ from: 'a.old', to: 'a.new' }] })),
    entry('five', 'four', await changes({ revised: { 'a.new': flip } })),
    entry('six', 'five', await changes({ revised: { 'a.new': bounds, 'a.old': flop } })),
  ];
});
afterAll(async () => {
  queries.close();
  await rm(directory, { recursive: true });
});

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

function changes({
  revised = {},
  renamed = [],
}: {
  revised?: Record<string, FileRef>;
  renamed?: EditionChanges['renamed'];
}) {
  const counts = { added: 0, changed: 0, withdrawn: 0, restored: 0 };
  const withCounts = Object.entries(revised).map(([id, file]) => [id, { ...counts, file }]);
  const all: EditionChanges = { added: [], withdrawn: [], renamed, revised: Object.fromEntries(withCounts) };
  return store(Buffer.from(JSON.stringify(all)));
}

const entry = (edition: string, base: string | null, changed: FileRef | null): LogEntry => ({
  edition,
  base,
  changes: changed,
  published_at: '2026-11-20T02:00:00+00:00',
  indicators: 1,
  root: '',
  manifest: '',
  counts: { providers: 1, indicators: 1, countries: 1, observations: 1 },
  changed: {},
});

function indexOf(editions: readonly LogEntry[] = chain, origin: ObjectOrigin | null = null) {
  const unreadable: string[] = [];
  const shared = {
    objects: new Objects(directory, origin),
    parsed: new ParsedObjects(),
    queries,
    onUnreadable: (name: string) => void unreadable.push(name),
  };
  return { index: new RevisionIndex(shared, editions), unreadable };
}

const was = (value: number, edition: string, superseded_by: string) => ({ value, edition, superseded_by });

test('a figure of every edition that no longer has it, newest first, under former ids too', async () => {
  const { index } = indexOf();
  expect(await index.earlierFigures('a.new', 'KEN', 2020)).toEqual([
    was(1, 'four', 'five'),
    was(2, 'two', 'three'),
    was(1, 'one', 'two'),
  ]);
  // Added is no earlier figure; withdrawn is one.
  expect(await index.earlierFigures('a.new', 'KEN', 2021)).toEqual([was(5, 'two', 'three')]);
  expect(await index.earlierFigures('a.new', 'USA', 2020)).toEqual([
    was(8, 'four', 'five'),
    was(8, 'one', 'two'),
  ]);
});

test('none for other figures, and for an id that goes on under another', async () => {
  const { index } = indexOf();
  expect(await index.earlierFigures('a.new', 'KEN', 2019)).toEqual([]);
  expect(await index.earlierFigures('a.none', 'KEN', 2020)).toEqual([]);
  expect(await indexOf(chain.slice(0, 1)).index.earlierFigures('a.old', 'KEN', 2020)).toEqual([]);
});

test('only editions of the chain count', async () => {
  const { index } = indexOf(chain.slice(0, 2));
  expect(await index.earlierFigures('a.old', 'KEN', 2020)).toEqual([was(1, 'one', 'two')]);
});

test('a damaged file is named, and its answer is unavailable', async () => {
  const [flip] = files;
  if (!flip) throw new Error('no files');
  const path = join(directory, objectPath(flip.sha256));
  const bytes = await readFile(path);
  await writeFile(path, 'PAR1 something else');
  const { index, unreadable } = indexOf();
  await expect(index.earlierFigures('a.new', 'KEN', 2020)).rejects.toBeInstanceOf(SnapshotUnreadable);
  expect(unreadable).toEqual(['the revisions of five']);
  await writeFile(path, bytes);
  expect(await index.earlierFigures('a.new', 'KEN', 2020)).toHaveLength(3);
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
        const isHere = await access(pathOf(ref)).then(
          () => true,
          () => false,
        );
        if (content === undefined || isHere) continue;
        await writeFile(pathOf(ref), content);
        fetched.push(ref.sha256);
      }
    },
  };
  const { index, unreadable } = indexOf(chain, origin);
  expect(await index.earlierFigures('a.new', 'KEN', 2020)).toHaveLength(3);
  expect(fetched.toSorted()).toEqual(files.map(({ sha256 }) => sha256).toSorted());
  expect(unreadable).toEqual([]);
});

test('that cannot be fetched is unreadable', async () => {
  const refuse = async (): Promise<void> => {
    throw new Error('the origin is away');
  };
  const { index } = indexOf(chain, { ensure: refuse });
  await expect(index.earlierFigures('a.new', 'KEN', 2020)).rejects.toBeInstanceOf(SnapshotUnreadable);
});
