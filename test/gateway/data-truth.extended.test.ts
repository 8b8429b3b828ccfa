/**
 * Data truth: Gapminder's files on one side, the answers of /v1/data on the other, every value of every indicator, as
 * doubles; ranks against a computation of their own; CSV against JSON. Nothing is sampled; only what curated bounds
 * exclude is left out.
 */

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ObservationRow } from '../../data/schema/records.ts';
import { useDirectory } from '../after-tests.ts';
import { describeWithMirror } from '../mirror.ts';
import { buildOpenedGapminder } from '../opened-gapminder.ts';
import { overlayBounds, withinBounds } from '../overlay-bounds.ts';
import { buildMirror } from '../shared-builds.ts';
import { Service } from './service.ts';
import { listSeries, rankObservations, readObservations, readPlaces } from './upstream-observations.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
/** A series whose values are no numbers. */
const NOT_NUMERIC = 'income_mountains';

interface RankingRow {
  iso3: string;
  value: number | null;
  rank: number | null;
  rank_delta_1y: number | null;
}

const root = await useDirectory();

describeWithMirror('every Gapminder figure over HTTP', (mirror) => {
  let service: Service;
  let key: string;
  let served: Set<string>;
  const places =
    mirror === '' ? new Map<string, string>() : readPlaces(mirror, join(ROOT, 'data', 'places.csv'));
  const all = mirror === '' ? [] : listSeries(mirror);
  const bounds = overlayBounds('gapminder');
  const numeric = all.filter(({ slug }) => slug !== NOT_NUMERIC);

  beforeAll(async () => {
    const snapshots = await buildOpenedGapminder(await buildMirror(mirror), root);
    service = await Service.start({ snapshots });
    ({ key } = await service.account({ credits: 100_000_000 }));
    const { json } = await service.get('/v1/countries');
    served = new Set(json.data.map(({ iso3 }: { iso3: string }) => iso3));
  });
  afterAll(() => service?.stop());

  const get = (path: string) => service.get(path, { key });

  test('the provider mirror holds the expected series', () => {
    expect(numeric.length).toBeGreaterThan(470);
  });

  test('serves exactly the numeric series', async () => {
    const { json } = await service.get('/v1/indicators?provider=gapminder');
    const ids = json.data.map(({ id }: { id: string }) => id);
    expect(ids.toSorted()).toEqual(numeric.map(({ slug }) => `gapminder.${slug}`).toSorted());
  });

  test.each(numeric)('$slug', async ({ slug, file }) => {
    const id = `gapminder.${slug}`;
    const { data: record } = (await service.get(`/v1/indicators/${id}`)).json;
    const answer = await get(`/v1/data?indicator=${id}`);
    const rows: ObservationRow[] = answer.json.data;
    const figures = readObservations(file, slug, places, served).filter(withinBounds(bounds, slug));
    expect(rows.length).toBe(figures.length);
    const ranks = rankObservations(figures, record.higher_is_better === false);
    const wrong = rows.filter((row, at) => {
      const figure = figures[at];
      const rank = record.no_rank ? null : ranks.get(`${row.iso3} ${row.year}`);
      const same =
        row.iso3 === figure?.iso3 && row.year === figure.year && Object.is(row.value, figure.value);
      return !same || row.rank !== rank;
    });
    expect(wrong).toEqual([]);
    expect(answer.headers['x-credits-charged']).toBe(String(Math.max(1, rows.length)));
    const observed = rows.filter(({ projected }) => !projected).map(({ year }) => year);
    if (observed.length > 0)
      expect(observed.reduce((a, b) => Math.max(a, b))).toBe(record.coverage.latest_year);
    expect((await get(`/v1/data?indicator=${id}&format=csv`)).text).toBe(toCsv(id, rows));
    if (record.no_rank) return;
    const ranking = (await get(`/v1/rankings/${id}`)).json;
    const year: number = ranking.meta.year;
    const measured = figures.filter((figure) => figure.year === year);
    expect(ranking.meta).toMatchObject({ year: record.coverage.latest_year, ranked: measured.length });
    expect(ranking.data).toHaveLength(served.size);
    const held = new Map(measured.map((figure) => [figure.iso3, figure.value]));
    const misplaced = ranking.data.filter((row: RankingRow) => {
      const rank = ranks.get(`${row.iso3} ${year}`) ?? null;
      const before = ranks.get(`${row.iso3} ${year - 1}`);
      const delta = rank === null || before === undefined ? null : before - rank;
      return row.value !== (held.get(row.iso3) ?? null) || row.rank !== rank || row.rank_delta_1y !== delta;
    });
    expect(misplaced).toEqual([]);
  });
});

/** The CSV that the JSON rows say. */
function toCsv(id: string, rows: ObservationRow[]): string {
  const lines = rows.map(
    ({ iso3, year, value, rank, projected }) =>
      `${id},${iso3},${year},${value ?? ''},,,${rank ?? ''},${projected}\r\n`,
  );
  return `indicator,iso3,year,value,ci_lo,ci_hi,rank,projected\r\n${lines.join('')}`;
}
