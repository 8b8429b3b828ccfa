/** Writes World Bank series as the single downloads that its site offers: a zip with one wide table each. */
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { RawObservation } from '../connectors/connector.ts';
import { findConnector } from '../connectors/registry.ts';
import { requireAll, type Selection, type StarterWriter } from './selection.ts';
import { zipOf } from './write-zip.ts';

interface Series {
  entry: CatalogueEntry;
  rows: RawObservation[];
}

/** Reads the chosen series from the mirror with the connector that reads it at night. */
async function readSeries(selection: Selection): Promise<Series[]> {
  const { definition, source, mirror, log, signal } = selection;
  const reader = findConnector(source.connector);
  const found = new Map<string, Series>();
  const settings = reader.settings.parse(source.source);
  for await (const item of reader.read({ definition, settings, upstream: mirror, log, signal })) {
    if (item.kind === 'indicator' && selection.series.has(item.entry.slug))
      found.set(item.entry.slug, { entry: item.entry, rows: [] });
    if (item.kind === 'observations') {
      const own = found.get(item.slug)?.rows;
      for (const row of own ? item.rows : []) if (selection.isCountry(row.place)) own?.push(row);
    }
  }
  requireAll(selection, new Set(found.keys()));
  return [...found.values()].sort((a, b) => (a.entry.slug < b.entry.slug ? -1 : 1));
}

const quoted = (cells: readonly string[]): string =>
  `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join()},\r\n`;

/** A row per country, a column per year, under the preamble of a download. */
function wideTable({ entry, rows }: Series, retrieved: string, nameOf: (place: string) => string): string {
  const years = [...new Set(rows.map(({ year }) => String(year)))].sort();
  const byPlace = Map.groupBy(rows, ({ place }) => place);
  const head = ['Country Name', 'Country Code', 'Indicator Name', 'Indicator Code', ...years];
  const body = [...byPlace].map(([place, own]) => {
    const values = new Map(own.map(({ year, value }) => [String(year), String(value ?? '')]));
    return [nameOf(place), place, entry.name, entry.slug, ...years.map((year) => values.get(year) ?? '')];
  });
  const preamble =
    quoted(['Data Source', 'World Development Indicators']) +
    '\r\n' +
    quoted(['Last Updated Date', retrieved]) +
    '\r\n';
  return preamble + [head, ...body.sort()].map(quoted).join('');
}

export const writeWorldBank: StarterWriter = async (selection) => {
  const files: string[] = [];
  for (const one of await readSeries(selection)) {
    const { slug } = one.entry;
    const name = `API_${slug}_DS2_en_csv_v2`;
    const retrieved = selection.series.get(slug)?.retrieved ?? '';
    await selection.write(
      `${name}.zip`,
      zipOf(`${name}.csv`, wideTable(one, retrieved, selection.countryName)),
    );
    files.push(`${name}.zip`);
  }
  await selection.write('files.txt', `${files.join('\n')}\n`);
};
