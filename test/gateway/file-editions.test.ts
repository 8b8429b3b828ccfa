/** Files while snapshots are published: a lease keeps its edition, and today's decisions govern every one. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { objectPath } from '../../data/schema/snapshot.ts';
import { useDirectory } from '../after-tests.ts';
import { COUNTRIES, type FixtureIndicator, INDICATORS } from './fixture-data.ts';
import { readManifest } from './fixture-log.ts';
import { FIXTURE_ID, publishFixture } from './fixture-snapshot.ts';
import { type Answer, codeOf, useService } from './service.ts';

const [FIRST, SECOND, THIRD] = [FIXTURE_ID, '20261121T020000Z-00000002', '20261122T020000Z-00000003'];
const LONG = '/v1/files/beta.long_series.parquet';
const SAME = '/v1/files/alpha.life_expectancy.parquet';
const BUNDLE = '/v1/bundles/beta.parquet';

let first: Answer;
const root = await useDirectory();
await publishFixture(root);
const service = await useService({ snapshots: root, settings: { SNAPSHOT_POLL_MS: '1000000' } });
const reader = await service.account({ credits: 100_000 });

const ask = (path: string, headers: Record<string, string> = {}, who = reader, method = 'GET') =>
  service.get(path, { key: who.key, headers, method });
const charged = ({ headers }: Answer): number => Number(headers['x-credits-charged']);
const facts = (answer: Answer) => [answer.status, answer.headers['x-snapshot'], charged(answer)];

/** One series is shorter. */
const shortened = INDICATORS.map(
  (one): FixtureIndicator =>
    one.id === 'beta.long_series' ? { ...one, rows: one.rows.filter(({ year }) => year < 1800) } : one,
);
async function publish(id: string, options: Parameters<typeof publishFixture>[1]): Promise<void> {
  await publishFixture(root, { id, generatedAt: `2026-11-${id.slice(6, 8)}T02:00:00+00:00`, ...options });
  await service.snapshots.check();
}

it('is answered from the edition of its lease while that lasts', async () => {
  first = await ask(LONG);
  expect(facts(first)).toEqual([200, FIRST, 2750]);
  await ask(BUNDLE);
  await ask(SAME);
  await publish(SECOND, { indicators: shortened });
  const [size, tag] = [first.bytes.length, String(first.headers.etag)];
  const last = await ask(LONG, { range: `bytes=${size - 8}-` });
  expect(facts(last)).toEqual([206, FIRST, 0]);
  expect(last.bytes.equals(first.bytes.subarray(-8))).toBe(true);
  expect((await ask(LONG, {}, reader, 'HEAD')).headers['content-length']).toBe(String(size));
  expect((await ask(LONG, { 'if-none-match': tag })).status).toBe(304);
  expect((await ask(`${LONG}?dry_run=true`)).json.data.price).toBe(0);
  expect(facts(await ask(BUNDLE))).toEqual([200, FIRST, 0]);
  // Others get the new one, and so does who asks for it.
  const other = await service.account({ credits: 10_000 });
  const newer = await ask(LONG, {}, other);
  expect(facts(newer)).toEqual([200, SECOND, 330]);
  expect(newer.bytes.length).toBeLessThan(size);
  expect(facts(await ask(`${LONG}?as_of=${SECOND}`))).toEqual([200, SECOND, 330]);
  expect(facts(await ask(LONG, { range: 'bytes=0-3' }))).toEqual([206, FIRST, 0]);
});

it('is not paid again in a new edition where it did not change', async () => {
  expect(facts(await ask(`${SAME}?as_of=${SECOND}`))).toEqual([200, SECOND, 0]);
});

it('is that of the newest edition once the lease is used up', async () => {
  for (let call = 0; call < 18; call += 1) expect(charged(await ask(LONG))).toBe(0);
  // Some bytes are left, which are not enough for the whole file. It has a lease of the new one, by its edition.
  const renewed = await ask(LONG);
  expect(facts(renewed)).toEqual([200, SECOND, 0]);
  expect(facts(await ask(LONG, { range: 'bytes=0-3' }))).toEqual([206, SECOND, 0]);
  expect(facts(await ask(`${LONG}?as_of=${FIRST}`))).toEqual([200, FIRST, 2750]);
});

it('gives up an edition whose bundle is no longer kept, and names what is', async () => {
  const { prerendered } = await readManifest(root, FIRST);
  await rm(join(root, objectPath(prerendered.sha256)));
  service.snapshots.current()?.editions.close();
  const gone = await ask(`${BUNDLE}?as_of=${FIRST}`);
  expect([gone.status, codeOf(gone)]).toEqual([404, 'file_not_found']);
  expect(gone.json.error.message).toContain(`/v1/files/{indicator_id}.parquet?as_of=${FIRST}`);
  const [status, edition, price] = facts(await ask(BUNDLE));
  expect([status, edition]).toEqual([200, SECOND]);
  expect(price).toBeGreaterThan(0);
});

it('is refused in every edition and lease by what is decided today', async () => {
  await ask('/v1/bundles/alpha.parquet');
  await ask('/v1/files/alpha.child_mortality.parquet');
  const indicators = shortened.map(
    (one): FixtureIndicator =>
      one.id === 'alpha.child_mortality' ? { ...one, access_tier: 'display' } : one,
  );
  // Germany is switched off.
  await publish(THIRD, { indicators, countries: COUNTRIES.filter(({ iso3 }) => iso3 !== 'DEU') });
  for (const asOf of ['', `?as_of=${FIRST}`, `?as_of=${SECOND}`])
    expect(codeOf(await ask(`/v1/files/alpha.child_mortality.parquet${asOf}`))).toBe('export_restricted');
  expect(codeOf(await ask(`/v1/bundles/alpha.parquet?as_of=${SECOND}`))).toBe('file_not_found');
  expect(facts(await ask('/v1/bundles/alpha.parquet')).slice(0, 2)).toEqual([200, THIRD]);
  const hidden = await ask(`${SAME}?as_of=${SECOND}`);
  expect([hidden.status, codeOf(hidden)]).toEqual([404, 'file_not_found']);
  // Nothing of this one is of Germany.
  const path = '/v1/files/alpha.GDP.PCAP.CD.parquet';
  expect((await ask(`${path}?as_of=${SECOND}`)).status).toBe(200);
});
