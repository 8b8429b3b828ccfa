/**
 * The IMF and UNDP definitions against an independent reading of the mirror: every cell of every datapoint file, the
 * boundary between actual figures and projections, and UNDP's place slugs against UNDP's own ISO codes.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, it } from 'vitest';
import { findConnector } from '../../../build/connectors/registry.ts';
import { type Curated, loadCurated } from '../../../data/curated/curated.ts';
import { describeWithMirror } from '../../mirror.ts';
import { directoryUpstream, type ReadProvider, readAll } from './read-connector.ts';

type Row = Record<string, string>;
const table = (file: string): Row[] => parse(readFileSync(file), { columns: true, bom: true });

describeWithMirror('the IMF', (mirror) => {
  const directory = join(mirror, 'imf-weo');
  let curated: Curated;
  let read: ReadProvider;
  beforeAll(async () => {
    curated = await loadCurated('data');
    read = await readAll(
      findConnector('ddf'),
      curated.providers.get('imf')?.source,
      directoryUpstream(directory),
    );
  });

  it('reads every cell, text as gaps, and marks projections', () => {
    const last = new Map(
      table(join(directory, 'ddf--notes.csv')).map((row) => [
        `${row.country} ${row.concept}`,
        Number(row.estimates_start_after),
      ]),
    );
    const files = readdirSync(directory).filter((name) => name.startsWith('ddf--datapoints--'));
    expect(read.failed.size).toBe(0);
    expect(read.series.size).toBe(files.length);
    let gaps = 0;
    let projected = 0;
    for (const file of files) {
      const slug = file.split('--')[2] ?? '';
      const expected = table(join(directory, file)).map((row) => {
        const text = row[slug] ?? '';
        const value = ['', 'n/a', '--'].includes(text) ? null : text;
        const boundary = last.get(`${row.country} ${slug}`) ?? 0;
        const isEstimate = Number(row.year) > boundary;
        const flag =
          boundary > 0 ? { projected: isEstimate, ...(isEstimate && { status: 'estimated' }) } : {};
        return { place: row.country, year: row.year, value, ...flag };
      });
      gaps += expected.filter(({ value }) => value === null).length;
      projected += expected.filter((row) => 'projected' in row && row.projected).length;
      expect(read.series.get(slug)?.rows, slug).toEqual(expected);
    }
    expect(gaps).toBe(1_173 + 94);
    expect(projected).toBeGreaterThan(30_000);
  });

  it('has a unique curated name, a unit and a topic for each series', () => {
    const overlays = [...read.series.values()].map(({ entry }) => curated.overlay('imf', entry));
    expect(overlays.filter(({ name, unit, topic }) => !name || !unit || !topic)).toEqual([]);
    expect(new Set(overlays.map(({ name }) => name)).size).toBe(overlays.length);
  });

  it('never ranks series in national currency or on an index base', () => {
    const ranked = [...read.series.values()]
      .map(({ entry }) => curated.overlay('imf', entry))
      .filter(({ no_rank }) => !no_rank);
    expect(ranked.filter(({ unit }) => /national currency|^index$/.test(unit ?? ''))).toEqual([]);
  });
});

describeWithMirror('UNDP', (mirror) => {
  const directory = join(mirror, 'undp-hdi');

  it('reads every cell, and resolves each place as UNDP does', async () => {
    const curated = await loadCurated('data');
    const definition = curated.providers.get('undp');
    const { series } = await readAll(findConnector('ddf'), definition?.source, directoryUpstream(directory));
    const rows = series.get('hdi')?.rows ?? [];
    expect(rows).toEqual(
      table(join(directory, 'ddf--datapoints--hdi--by--country--year.csv')).map((row) => ({
        place: row.country,
        year: row.year,
        value: row.hdi || null,
      })),
    );
    const names = new Map(
      table(join(directory, 'ddf--entities--country.csv')).map((row) => [row.country, row.name]),
    );
    const native = table(join(directory, 'etl', 'source', 'HDR21-22_complete_time_series.csv'));
    const iso3 = new Map(native.map((row) => [row.country, row.iso3]));
    const wrong = [...names].filter(([slug, name]) => {
      const place = curated.places.resolve(definition?.places ?? [], slug ?? '');
      const expected = iso3.get(name ?? '');
      return place.kind === 'country' ? place.iso3 !== expected : !expected?.startsWith('ZZ');
    });
    expect(wrong).toEqual([]);
    expect(names.size).toBeGreaterThan(190);
  });
});
