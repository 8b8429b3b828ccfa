/**
 * The whole of Gapminder through ingestion and build, held against its files: every value as a double, read from the
 * published Parquet by a reader that is not the writer's, and every row of the files accounted for.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectorFor } from '../../build/connectors/registry.ts';
import { ingestProvider } from '../../build/ingest/ingest-provider.ts';
import { buildSnapshot } from '../../build/snapshot/build-snapshot.ts';
import { SnapshotShelf } from '../../build/snapshot/publish.ts';
import { loadCurated } from '../../data/curated.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { countRows, listSeries, rankFigures, readFigures, readPlaces } from '../gateway/upstream-figures.ts';
import { describeWithMirror } from '../mirror.ts';
import { readWithHyparquet } from './parquet.ts';
import { DATA, NOON } from './world.ts';

const WHOLE_MS = 600_000;

describeWithMirror('Gapminder, whole', (mirror) => {
  let directory: string;
  let record: RunRecord;
  let snapshot: string;
  let served: Set<string>;
  let lowerIsBetter: Set<string>;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'almanac-truth-'));
    const curated = await loadCurated(DATA);
    const dependencies = {
      settings: {
        LAKE_DIR: join(directory, 'lake'),
        LAKE_KEEP: 2,
        CURATED_DIR: DATA,
        PROVIDER_MIRROR: mirror,
        SNAPSHOT_DIR: join(directory, 'snapshots'),
        SNAPSHOT_KEEP: 2,
      },
      curated,
      connectorFor,
      now: () => NOON,
      log: pino({ level: 'silent' }),
    };
    record = await ingestProvider(dependencies, 'gapminder');
    await buildSnapshot(dependencies);
    snapshot = (await new SnapshotShelf(dependencies.settings.SNAPSHOT_DIR).current())?.directory ?? '';
    served = new Set(curated.countries.filter((country) => country.enabled).map(({ iso3 }) => iso3));
    const entry = (slug: string) => ({
      slug,
      name: slug,
      description: null,
      unit: null,
      source: null,
      source_url: null,
      tags: [],
      licence: null,
    });
    lowerIsBetter = new Set(
      listSeries(mirror)
        .map(({ slug }) => slug)
        .filter((slug) => curated.overlay('gapminder', entry(slug)).higher_is_better === false),
    );
  }, WHOLE_MS);
  afterAll(() => rm(directory, { recursive: true, force: true }));

  const series = () => listSeries(mirror).filter(({ slug }) => slug !== 'income_mountains');

  it('takes every numeric series, and accounts for every row of their files', () => {
    expect(record).toMatchObject({ status: 'succeeded', failed_indicators: [] });
    expect(record.indicators).toBe(series().length);
    const rejected = Object.values(record.rejects).reduce((sum, { rows }) => sum + rows, 0);
    const upstream = series().reduce((sum, { file }) => sum + countRows(file), 0);
    expect(record.rows_written + rejected).toBe(upstream);
  });

  it('publishes every value as the double of the file, with its rank', { timeout: WHOLE_MS }, async () => {
    const places = readPlaces(mirror, join(DATA, 'places.csv'));
    let compared = 0;
    for (const { slug, file } of series()) {
      const published = await readWithHyparquet(join(snapshot, observationsFile(`gapminder.${slug}`)));
      const figures = readFigures(file, slug, places, served);
      expect(
        published.map(({ iso3, year, value }) => ({ iso3, year, value })),
        slug,
      ).toEqual(figures);
      if (published.some(({ rank }) => rank !== null)) {
        const ranks = rankFigures(figures, lowerIsBetter.has(slug));
        expect(
          published.map(({ iso3, year, rank }) => [`${iso3} ${year}`, rank]),
          slug,
        ).toEqual(figures.map(({ iso3, year }) => [`${iso3} ${year}`, ranks.get(`${iso3} ${year}`)]));
      }
      compared += published.length;
    }
    expect(compared).toBeGreaterThan(3_700_000);
  });
});
