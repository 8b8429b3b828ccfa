/** The upstream files of every run: where each came from, its hash, size and times, kept for ever. */
import { createHash } from 'node:crypto';
import { readFile, utimes } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { SOURCES } from '../../../build/lake/provider-lake.ts';
import { type RunRecord, SOURCE_COLUMNS } from '../../../data/schema/lake.ts';
import { type Listening, listen } from '../../listen.ts';
import { query } from '../parquet-readers.ts';
import { cells, ddfFiles, type Series, World } from '../world.ts';

const FIRST = '2026-11-20T12:00:00+00:00';
const SECOND = '2026-11-21T12:00:00+00:00';
const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

let world: World;
afterEach(() => world.remove());

/** The list of files that a run names, wherever it is kept. */
async function sourcesOf({ sources }: RunRecord): Promise<Record<string, unknown>[]> {
  const run = (await world.lake('atlas').history()).find(({ record }) => record.run_id === sources?.run_id);
  return query(`SELECT * FROM read_parquet('${join(run?.directory ?? 'none', SOURCES)}')`);
}

describe('from a mirror', () => {
  const ONE = { one: { cells: cells(3) } };
  beforeEach(async () => {
    world = await World.create();
  });

  it('every file is listed with its origin, size and hash', async () => {
    await world.publish('atlas', ONE);
    const record = await world.ingest('atlas');
    const expected = Object.entries(ddfFiles(ONE)).map(([reference, text]) => ({
      url: `https://atlas.example/${reference}`,
      reference,
      sha256: sha256(text),
      bytes: String(Buffer.byteLength(text)),
      fetched_at: FIRST,
      confirmed_at: FIRST,
      series: reference.includes('--one--') ? ['one'] : [],
      carried: false,
    }));
    expect(await sourcesOf(record)).toEqual(expected.sort((a, b) => (a.url < b.url ? -1 : 1)));
    expect(record.sources).toMatchObject({ run_id: record.run_id, files: 3 });
    expect(record.sources?.first.map((file) => file.sha256)).toEqual(expected.map((file) => file.sha256));
    expect(JSON.stringify([record, await sourcesOf(record)])).not.toContain(world.directory);
    const file = join(world.lake('atlas').directory, record.run_id, SOURCES);
    const columns = await query(`DESCRIBE SELECT * FROM read_parquet('${file}')`);
    expect(Object.fromEntries(columns.map((one) => [one.column_name, one.column_type]))).toEqual(
      SOURCE_COLUMNS,
    );
  });

  it('an unchanged run names the files that it confirmed, and LAKE_KEEP leaves the lists', async () => {
    const runs: RunRecord[] = [];
    for (let night = 1; night <= 5; night += 1) {
      await world.publish('atlas', { one: { cells: cells(night) } });
      runs.push(await world.ingest('atlas'));
      world.tomorrow();
      const confirmed = await world.ingest('atlas');
      expect(confirmed.status).toBe('unchanged');
      expect(confirmed.sources).toEqual(runs.at(-1)?.sources);
      world.tomorrow();
    }
    expect(await world.lake('atlas').runIds()).not.toContain(runs[0]?.run_id);
    for (const [index, run] of runs.entries()) {
      const files = ddfFiles({ one: { cells: cells(index + 1) } });
      const hashes = (await sourcesOf(run)).map((file) => file.sha256);
      expect(hashes.sort()).toEqual(Object.values(files).map(sha256).sort());
    }
  });

  it('a run that read other bytes with the same figures lists them though it is unchanged', async () => {
    await world.publish('atlas', ONE);
    const first = await world.ingest('atlas');
    const file = join(world.directory, 'mirror/atlas/datapackage.json');
    // Same size and time, so that nothing but the bytes tells; --force reads them.
    const text = (await readFile(file, 'utf8')).replace('"1.0.0"', '"1.0.1"');
    await world.write('mirror/atlas/datapackage.json', text);
    await utimes(file, new Date(world.clock), new Date(world.clock));
    world.tomorrow();
    expect((await world.ingest('atlas')).sources).toEqual(first.sources);
    const second = await ingestProvider(await world.dependencies(), 'atlas', { force: true });
    expect(second).toMatchObject({ status: 'unchanged', sources: { run_id: second.run_id } });
    expect((await sourcesOf(second)).map((one) => one.sha256)).toContain(sha256(text));
  });

  it('a file of the starter data gets the URL of the origin itself', async () => {
    await world.define('atlas', { starter: {} });
    await world.publishStarter('atlas', ONE);
    const record = await ingestProvider(await world.dependencies(), 'atlas', { starter: true });
    const urls = (await sourcesOf(record)).map(({ url }) => url);
    expect(new Set(urls)).toEqual(new Set(['https://atlas.example/']));
  });
});

describe('from the origin', () => {
  let server: Listening;
  let files: Record<string, string> = {};
  let base = '';
  beforeEach(async () => {
    server = await listen(
      createServer((request, response) => {
        const content = files[(request.url ?? '').slice(1)];
        const etag = `"${sha256(content ?? '')}"`;
        if (content === undefined) response.writeHead(404).end();
        else if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end();
        else response.writeHead(200, { etag }).end(content);
      }),
    );
    base = `${server.url}/`;
    world = await World.create({ atlas: { origin: base } });
    delete world.settings.PROVIDER_MIRROR;
  });
  afterEach(() => server.stop());

  const night = async (series: Record<string, Series>): Promise<RunRecord> => {
    files = ddfFiles(series);
    const record = await world.ingest('atlas');
    world.tomorrow();
    return record;
  };

  it('a file that is read from the cache after a 304 keeps its hash and its time, and is confirmed', async () => {
    await night({ one: { cells: cells(3) }, two: { cells: cells(2) } });
    const second = await night({ one: { cells: cells(4) }, two: { cells: cells(2) } });
    const listed = await sourcesOf(second);
    expect(listed).toHaveLength(4);
    for (const { reference, ...file } of listed) {
      const content = files[String(reference)] ?? '';
      expect(file).toEqual({
        url: `${base}${reference}`,
        sha256: sha256(content),
        bytes: String(content.length),
        fetched_at: String(reference).includes('--one--') ? SECOND : FIRST,
        confirmed_at: SECOND,
        series: ['one', 'two'].filter((slug) => String(reference).includes(`--${slug}--`)),
        carried: false,
      });
    }
    const third = await night({ one: { cells: cells(4) }, two: { cells: cells(2) } });
    expect(third).toMatchObject({ status: 'unchanged', sources: second.sources });
  });
});
