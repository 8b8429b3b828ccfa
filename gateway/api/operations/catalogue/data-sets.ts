/**
 * Indicators, providers and editions as data sets: what documents in several vocabularies say about them, and what can be
 * downloaded. Addresses name the edition.
 */
import type { IndicatorRecord, IndicatorSource, ProviderCredit } from '../../../../data/schema/records.ts';
import { csv, type DataFile, type DataSet, PARQUET_TYPE } from '../../encoders/encoders.ts';
import type { Edition, StoredFile } from '../../snapshot/snapshot.ts';
import { describedColumns } from '../observations/long-table.ts';
import type { Input, Refused } from '../operation.ts';
import { type CitedQuery, citationOf, type Subject } from './subjects.ts';

/** What a subject has besides its citation. @param base before paths. */
type Contents = (edition: Edition, id: string, base: string) => Promise<Omit<DataSet, 'citation'>>;

/** @param id as sent, or that of today for an indicator. */
export async function describeDataSet(
  subject: Subject,
  input: Input<CitedQuery>,
  id: string,
): Promise<DataSet | Refused> {
  const cited = await subject.cite(input, id);
  if ('kind' in cited) return cited;
  const contents = await CONTENTS[subject.name](input.snapshot, id, input.publicUrl);
  return { citation: citationOf(cited, input.publicUrl), ...contents };
}

const CONTENTS: Readonly<Record<Subject['name'], Contents>> = {
  Indicator: indicatorContents,
  Provider: providerContents,
  Edition: editionContents,
};

async function indicatorContents(edition: Edition, id: string, base: string) {
  const entry = await edition.indicator(id);
  if (entry === undefined) throw new Error(`the edition has no ${id}`);
  const { record } = entry;
  const { name, description, unit, topic } = record;
  return {
    description: [description ?? name, ...(unit === null ? [] : [`Unit: ${unit}.`])].join('\n'),
    keywords: [topic],
    indicators: [record],
    sources: await sourcesOf(edition, [record]),
    files: await indicatorFiles(edition, record, base),
  };
}

async function providerContents(edition: Edition, id: string, base: string) {
  const catalogue = await edition.wholeCatalogue();
  const indicators = catalogue.listed('name', 'asc', { provider: id }).map(({ record }) => record);
  const name = indicators[0]?.provider.name ?? id;
  return {
    description: `The indicators of ${name} that Almanac publishes: ${indicators.length}.`,
    keywords: topicsOf(indicators),
    indicators,
    sources: await sourcesOf(edition, indicators),
    files: await bundles(edition, providersOf(indicators), base),
  };
}

async function editionContents({ editions }: Edition, id: string, base: string) {
  const edition = await editions.open({ edition: id });
  const catalogue = await edition.wholeCatalogue();
  const indicators = catalogue.ordered('name', 'asc').map(({ record }) => record);
  return {
    description: `All indicators that Almanac published as snapshot ${id}: ${indicators.length}.`,
    keywords: topicsOf(indicators),
    indicators,
    sources: providersOf(indicators).map(({ name }) => ({ name, url: null })),
    files: await bundles(edition, providersOf(indicators), base),
  };
}

const providersOf = (indicators: readonly IndicatorRecord[]): ProviderCredit[] => [
  ...new Map(indicators.map(({ provider }) => [provider.id, provider])).values(),
];

const topicsOf = (indicators: readonly IndicatorRecord[]): string[] =>
  [...new Set(indicators.map(({ topic }) => topic))].sort();

/** Who collected the figures, each once. */
async function sourcesOf(edition: Edition, indicators: readonly IndicatorRecord[]) {
  const ids = indicators.map(({ id }) => id);
  const lists = await edition.additions(['sources'], ids);
  const sources = ids.flatMap((id): IndicatorSource[] => JSON.parse(lists.json('sources', id)));
  const distinct = new Map(sources.map(({ name, url }) => [JSON.stringify([name, url]), { name, url }]));
  return [...distinct.values()];
}

const KEY = ['iso3', 'year'] as const;
const FIGURES = ['value', 'ci_lo', 'ci_hi', 'rank'] as const;
const CSV_COLUMNS = ['indicator', ...KEY, ...FIGURES, 'projected'] as const;
const PARQUET_COLUMNS = [
  ...KEY,
  ...FIGURES,
  ...(['rank_delta_1y', 'projected', 'status', 'rank_lo', 'rank_hi'] as const),
] as const;

/** Downloads of one indicator; none if it is display-only. @param base before paths. */
export async function indicatorFiles(
  edition: Edition,
  record: IndicatorRecord,
  base: string,
): Promise<DataFile[]> {
  if (record.access_tier === 'display') return [];
  const { id, name, unit } = record;
  const whole = await edition.wholeFile(id);
  const rows = rowFiles(edition, record, base);
  if (whole === null) return rows;
  const title = `${name}: observations as Parquet`;
  const columns = describedColumns(PARQUET_COLUMNS, unit);
  const file = parquetFile(`${base}/v1/files`, id, edition, whole);
  return [{ ...file, title, columns, hasAllColumns: false, key: KEY }, ...rows];
}

const parquetFile = (folder: string, id: string, edition: Edition, { bytes, sha256 }: StoredFile) => ({
  name: `${id}.parquet`,
  url: `${folder}/${id}.parquet?as_of=${edition.id}`,
  ...({ mediaType: PARQUET_TYPE, format: 'parquet' } as const),
  content: { bytes, sha256 },
});

/** The same as far as it is known without reading observations. */
export function rowFiles(edition: Edition, record: IndicatorRecord, base: string): DataFile[] {
  const { id, name, unit, access_tier } = record;
  if (access_tier === 'display') return [];
  return [
    {
      name: `${id}.csv`,
      title: `${name}: observations as CSV`,
      url: `${base}/v1/data?indicator=${id}&format=csv&as_of=${edition.id}`,
      mediaType: csv.mediaType,
      format: 'csv',
      columns: describedColumns(CSV_COLUMNS, unit),
      hasAllColumns: true,
      key: ['indicator', ...KEY],
      content: null,
    },
  ];
}

/** The bundles of some providers that an edition still has. @param base before paths. */
async function bundles(
  edition: Edition,
  providers: Iterable<Pick<ProviderCredit, 'id' | 'name'>>,
  base: string,
): Promise<DataFile[]> {
  const files: DataFile[] = [];
  for (const { id, name } of providers) {
    const bundle = await edition.bundle(id);
    if (bundle === null) continue;
    files.push({
      ...parquetFile(`${base}/v1/bundles`, id, edition, bundle),
      title: `Observations of all indicators of ${name} that may be exported, as Parquet`,
      columns: describedColumns(['indicator', ...PARQUET_COLUMNS], null),
      hasAllColumns: true,
      key: ['indicator', ...KEY],
    });
  }
  return files;
}
