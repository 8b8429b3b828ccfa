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
import { loadCurated } from '../../../data/curated/curated.ts';
import { describeWithMirror } from '../../mirror.ts';

const DATA = fileURLToPath(new URL('../../../data', import.meta.url));

describeWithMirror('the World Bank mirror', (mirror) => {
  const directory = join(mirror, 'world-bank');
  const definition = parseYaml(
    readFileSync(new URL('../../../data/providers/world-bank.yaml', import.meta.url), 'utf8'),
  );

  it('lists every zip and package of the mirror in the definition, and every reviewed series', () => {
    const [long, downloads] = definition.mirror.source.parts;
    const packages = readdirSync(join(directory, 'datahub-wdi-long', 'indicators')).sort();
    expect(long.source.each.names).toEqual(packages);
    const zips = readdirSync(join(directory, 'api-csv-2025')).map((name) => `api-csv-2025/${name}`);
    expect(downloads.source.files.filter((file: unknown) => typeof file === 'string').sort()).toEqual(
      zips.sort(),
    );
    const overlay: Record<string, string>[] = parseCsv(readFileSync(join(DATA, 'overlay/world-bank.csv')), {
      columns: true,
    });
    expect(definition.source.indicators).toEqual(overlay.map(({ slug }) => slug));
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
