/** Indicators, providers and editions as data sets: what documents in several vocabularies tell of them. */
import type { IndicatorRecord, IndicatorSource, ProviderCredit } from '../../../../data/schema/records.ts';
import type { DataSet } from '../../encoders/documents/data-set.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import type { Input, Refused } from '../operation.ts';
import { type CitedQuery, citationOf, type Subject } from './cited-subjects.ts';
import { bundles, indicatorFiles } from './data-files.ts';

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
