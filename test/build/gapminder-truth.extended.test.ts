/**
 * All of Gapminder, ingested and built, compared with its files: every value as a double, read from the published
 * Parquet by an independent reader, and every row accounted for.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadCurated } from '../../data/curated/curated.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import {
  countRows,
  listSeries,
  rankObservations,
  readObservations,
  readPlaces,
} from '../gateway/upstream-observations.ts';
import { describeWithMirror } from '../mirror.ts';
import { buildOpenedGapminder } from '../opened-gapminder.ts';
import { overlayBounds, withinBounds } from '../overlay-bounds.ts';
import { BUILD_WITHIN_MS, buildMirror, runOf } from '../shared-builds.ts';
import { readWithHyparquet } from './parquet-readers.ts';
import { DATA, plainEntry } from './world.ts';

const WHOLE_MS = 600_000;

describeWithMirror('all of Gapminder', (mirror) => {
  let root: string;
  let record: RunRecord;
  let snapshot: string;
  let served: Set<string>;
  let lowerIsBetter: Set<string>;

  beforeAll(async () => {
    const built = await buildMirror(mirror);
    root = await mkdtemp(join(tmpdir(), 'almanac-truth-'));
    ({ snapshot } = await buildOpenedGapminder(built, root));
    record = await runOf(built, 'gapminder');
    const curated = await loadCurated(DATA);
    served = new Set(curated.countries.filter((country) => country.enabled).map(({ iso3 }) => iso3));
    lowerIsBetter = new Set(
      listSeries(mirror)
        .map(({ slug }) => slug)
        .filter((slug) => curated.overlay('gapminder', plainEntry(slug)).higher_is_better === false),
    );
  }, BUILD_WITHIN_MS);
  afterAll(() => rm(root, { recursive: true, force: true }));

  const series = () => listSeries(mirror).filter(({ slug }) => slug !== 'income_mountains');

  it('has every numeric series and accounts for every row', () => {
    expect(record).toMatchObject({ status: 'succeeded', failed_indicators: [] });
    expect(record.indicators).toBe(series().length);
    const rejected = Object.values(record.rejects).reduce((sum, { rows }) => sum + rows, 0);
    const upstream = series().reduce((sum, { file }) => sum + countRows(file), 0);
    expect(record.rows_written + rejected).toBe(upstream);
  });

  it('publishes every value as the double in the file, with its rank', { timeout: WHOLE_MS }, async () => {
    const places = readPlaces(mirror, join(DATA, 'places.csv'));
    let compared = 0;
    const bounds = overlayBounds('gapminder');
    for (const { slug, file } of series()) {
      const published = await readWithHyparquet(join(snapshot, observationsFile(`gapminder.${slug}`)));
      const figures = readObservations(file, slug, places, served).filter(withinBounds(bounds, slug));
      expect(published.length, slug).toBe(figures.length);
      const isRanked = published.some(({ rank }) => rank !== null);
      const ranks = isRanked ? rankObservations(figures, lowerIsBetter.has(slug)) : null;
      const wrong = published.filter(({ iso3, year, value, rank }, at) => {
        const figure = figures[at];
        const same = iso3 === figure?.iso3 && year === figure?.year && Object.is(value, figure?.value);
        return !same || rank !== (ranks ? ranks.get(`${iso3} ${year}`) : null);
      });
      expect(wrong, slug).toEqual([]);
      compared += published.length;
    }
    expect(compared).toBeGreaterThan(3_700_000);
  });
});
