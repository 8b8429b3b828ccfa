/**
 * The World Bank's layouts in the mirror as one provider. Every figure is compared in
 * `test/gateway/all-providers.extended.test.ts`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse as parseCsv } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { combinedSettings, createCombinedConnector } from '../../../build/connectors/combined.ts';
import type { RawObservation } from '../../../build/connectors/connector.ts';
import { findConnector } from '../../../build/connectors/registry.ts';
import { loadCurated, type PlaceTable } from '../../../data/curated/curated.ts';
import type { IndicatorOverlay } from '../../../data/schema/curated.ts';
import { describeWithMirror } from '../../mirror.ts';
import { contextFor, directoryUpstream } from './read-connector.ts';

/** Series with wrong figures upstream, which curated bounds leave out. */
const BOUNDED = [
  'FM.LBL.BMNY.GD.ZS',
  'GC.DOD.TOTL.GD.ZS',
  'SI.POV.MDIM.IT',
  'TX.VAL.FUEL.ZS.UN',
  'TX.VAL.MMTL.ZS.UN',
];
const DATA = fileURLToPath(new URL('../../../data', import.meta.url));

/** Whether a country's figure is outside the curated bounds. */
const isOutside =
  (
    { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: IndicatorOverlay,
    places: PlaceTable,
  ) =>
  ({ place, value }: RawObservation): boolean =>
    value !== null &&
    (Number(value) < min || Number(value) > max) &&
    places.resolve(['iso3'], place).kind === 'country';

describeWithMirror('the World Bank mirror', (mirror) => {
  const directory = join(mirror, 'world-bank');
  const upstream = directoryUpstream(directory);
  const definition = parseYaml(
    readFileSync(new URL('../../../data/providers/world-bank.yaml', import.meta.url), 'utf8'),
  );

  it('lists every zip and package of the mirror in the definition', () => {
    const [long, downloads] = definition.mirror.source.parts;
    const packages = readdirSync(join(directory, 'datahub-wdi-long', 'indicators')).sort();
    expect(long.source.each.names).toEqual(packages);
    const zips = readdirSync(join(directory, 'api-csv-2025')).map((name) => `api-csv-2025/${name}`);
    expect(downloads.source.files.filter((file: unknown) => typeof file === 'string').sort()).toEqual(
      zips.sort(),
    );
  });

  it('combines all layouts: 354 series, the newest edition of each, licences by series', async () => {
    const combined = createCombinedConnector(findConnector);
    const source = combinedSettings.parse(definition.mirror.source);
    const counts = new Map<string, number>();
    const licences = new Map<string, string | null>();
    const curated = await loadCurated(DATA);
    const outside: string[] = [];
    let bounds: IndicatorOverlay = {};
    for await (const item of combined.read(contextFor(combined, source, upstream))) {
      expect(item.kind).not.toBe('failed');
      if (item.kind === 'indicator') {
        expect(licences.has(item.entry.slug), item.entry.slug).toBe(false);
        licences.set(item.entry.slug, item.entry.licence);
        counts.set(item.entry.slug, 0);
        bounds = curated.overlay('world-bank', item.entry);
      }
      if (item.kind === 'observations') {
        outside.push(
          ...item.rows.filter(isOutside(bounds, curated.places)).map((row) => `${item.slug} ${row.value}`),
        );
        counts.set(item.slug, (counts.get(item.slug) ?? 0) + item.rows.length);
      }
    }
    expect(licences.size).toBe(354);
    // The bounds exclude the archive's sums, and what people decided to be wrong in these series.
    const excluded = outside.map((row) => row.split(' ')[0] ?? '').filter((slug) => !slug.endsWith('.DS57'));
    expect([...new Set(excluded)].toSorted()).toEqual(BOUNDED);
    expect(excluded.length).toBeLessThan(40);
    expect(outside.length).toBeGreaterThan(4_000);
    const reviewed = parseCsv(
      readFileSync(new URL('../../../data/overlay/world-bank.csv', import.meta.url)),
      {
        columns: true,
      },
    ).map((row) => (row as { slug: string }).slug);
    expect([...licences.keys()].filter((slug) => !slug.endsWith('.DS57')).sort()).toEqual(reviewed.sort());
    expect(definition.source.indicators).toEqual(reviewed);
    // The long set has 17,394 rows of population; the zip of 2025 has 266 x 65 cells.
    expect(counts.get('SP.POP.TOTL')).toBe(17_394);
    expect(counts.get('BN.CAB.XOKA.GD.ZS')).toBe(266 * 65);
    const excepted = [...licences].filter(([, licence]) => licence !== null && !/^CC.BY.4/.test(licence));
    expect(excepted.map(([slug]) => slug).sort()).toEqual([
      'EG.ELC.RNEW.ZS',
      'EG.GDP.PUSE.KO.PP.KD',
      'EG.IMP.CONS.ZS',
      'EG.USE.COMM.CL.ZS',
      'EG.USE.COMM.FO.ZS',
      'EG.USE.ELEC.KH.PC',
      'EG.USE.PCAP.KG.OE',
      'ER.PTD.TOTL.ZS',
      'MS.MIL.XPND.GD.ZS',
      'MS.MIL.XPND.ZS',
    ]);
  });

  it('withholds exactly the 31 series that the World Bank excepts, with and without their licence, and those of IHME, EM-DAT and SIPRI', async () => {
    const curated = await loadCurated(DATA);
    const series: Record<string, string>[] = parseCsv(
      readFileSync(join(directory, 'wdi-metadata-2019', 'WDISeries.csv')),
      { columns: true, bom: true },
    );
    const about = { name: 'x', description: null, unit: null, source: null, source_url: null, tags: [] };
    const findWithheld = (isStated: boolean): string[] =>
      series
        .filter((row) => {
          const licence = isStated ? (row['License Type'] ?? null) : null;
          const slug = row['Series Code'] ?? '';
          return curated.overlay('world-bank', { ...about, slug, licence }).redistributable === false;
        })
        .map((row) => row['Series Code'] ?? '');
    const excepted = series
      .filter((row) => row['License Type'] !== 'CC BY-4.0')
      .map((row) => row['Series Code']);
    expect(excepted).toHaveLength(31);
    const withheld = series
      .filter(
        ({ 'License Type': licence, Source: source = '' }) =>
          licence !== 'CC BY-4.0' || /Global Burden of Disease|EM-DAT|SIPRI/.test(source),
      )
      .map((row) => row['Series Code']);
    expect(withheld).toHaveLength(39);
    expect(findWithheld(true)).toEqual(withheld);
    expect(findWithheld(false)).toEqual(withheld);
  });
});
