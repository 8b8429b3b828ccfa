/** What a closed edition computes from kept files is what the build prerendered. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countryFile, indicatorFile } from '../../../data/schema/snapshot.ts';
import { ClosedEdition } from '../../../gateway/snapshot/closed-edition.ts';
import { ObservationCache } from '../../../gateway/snapshot/observations.ts';
import { QueryRunner } from '../../../gateway/snapshot/query-runner.ts';
import { searchIndicators } from '../../../gateway/snapshot/search.ts';
import { Snapshot } from '../../../gateway/snapshot/snapshot.ts';
import { TodaysTerms } from '../../../gateway/snapshot/todays-terms.ts';
import { FIXTURE_ID, publishFixture, readLog } from '../fixture-snapshot.ts';
import { objectSource } from '../object-source.ts';

let root: string;
let queries: QueryRunner;
let served: Snapshot;
let closed: ClosedEdition;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'alm-closed-'));
  await publishFixture(root);
  queries = await QueryRunner.open(10_000);
  const observations = new ObservationCache(queries, 10_000_000);
  const log = pino({ level: 'silent' });
  const shared = { ...objectSource(root), queries, observations, processCount: 1, log };
  const entries = await readLog(root);
  served = await Snapshot.open(FIXTURE_ID, shared, entries);
  const [entry] = entries;
  if (entry === undefined) throw new Error('the log is empty');
  closed = await ClosedEdition.open(entry, shared, new TodaysTerms(served));
});
afterAll(async () => {
  queries.close();
  await rm(root, { recursive: true });
});

const prerendered = async (name: string): Promise<string> =>
  (await served.routes.bytes(name, 'identity')).toString();

test('every indicator', async () => {
  for (const id of served.catalogue.indicators.keys())
    expect((await closed.indicatorBody(id)).toString()).toBe(await prerendered(indicatorFile(id)));
});

test('every country', async () => {
  for (const iso3 of served.countriesByCode.keys())
    expect((await closed.countryBody(iso3)).toString()).toBe(await prerendered(countryFile(iso3)));
});

test('the catalogue, in every order, and searches of it', async () => {
  const catalogue = await closed.wholeCatalogue();
  const ids = (of: typeof catalogue, query: object) => searchIndicators(of, query).map(({ json }) => json);
  const queriesTried = [
    {},
    { q: 'life' },
    { sort: 'topic' },
    { sort: 'coverage', dir: 'asc' },
    { projections: true },
  ];
  for (const query of queriesTried) expect(ids(catalogue, query)).toEqual(ids(served.catalogue, query));
});
