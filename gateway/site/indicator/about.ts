/** What is said about an indicator beside its figures: what to know before comparing them, how to cite it, what it is for machines. */
import type { PublicFinding } from '../../../data/schema/quality.ts';
import type {
  IndicatorRecord,
  IndicatorSource,
  IndicatorTwin,
  RelatedEntry,
} from '../../../data/schema/records.ts';
import { apa, apaHtml, bibtex, cslItem, ris } from '../../api/encoders/encoders.ts';
import { citationOf, citeIndicator, indicatorFiles } from '../../api/operations/operations.ts';
import type { CatalogueEntry, Edition } from '../../api/snapshot/snapshot.ts';
import { nameWithUnit, yearsText } from '../figures.ts';

/** The most findings and twins on a page. */
const SHOWN_MAX = 10;
const CHANGES_MAX = 8;

/** Doubts, projections, other series of the same statistic. @throws {SnapshotUnreadable} */
export async function comparability(edition: Edition, entry: CatalogueEntry) {
  const { id } = entry.record;
  const lists = await edition.additions(['sources', 'quality', 'twins'], [id]);
  const twins: IndicatorTwin[] = JSON.parse(lists.json('twins', id));
  const findings: PublicFinding[] = JSON.parse(lists.json('quality', id));
  const sources: IndicatorSource[] = JSON.parse(lists.json('sources', id));
  const countryName = (iso3 = ''): string | null => edition.countriesByCode.get(iso3)?.name || null;
  return {
    sources,
    findings: findings.slice(0, SHOWN_MAX),
    /** With the name of the country with the largest difference; null where none is told. */
    twins: twins
      .slice(0, SHOWN_MAX)
      .map((twin) => ({ ...twin, largestIn: countryName(twin.difference?.largest.iso3) })),
    /** Sentences. */
    notes: notesOn(entry),
  };
}

/** Those that can be taken home. */
export async function openOnes<Twin extends { id: string }>(
  edition: Edition,
  twins: readonly Twin[],
): Promise<Twin[]> {
  const found = await Promise.all(twins.map(({ id }) => edition.indicator(id)));
  return twins.filter((_, at) => found[at]?.record.access_tier === 'open');
}

function notesOn({ record, hasProjections }: CatalogueEntry): string[] {
  const { coverage } = record;
  const notes = [rankNote(record)];
  if (hasProjections && coverage !== null && coverage.latest_year !== null)
    notes.push(
      `Years after ${coverage.latest_year} are projections of the source: they are marked, drawn dashed, and not ranked.`,
    );
  if (coverage !== null && coverage.latest_year === null && coverage.yr_min !== null)
    notes.push(`All figures are projections of the source: ${yearsText(coverage.yr_min, coverage.yr_max)}.`);
  notes.push(
    'Countries measure in different years, and some years are missing: a country without a figure in a year is not ranked in it.',
  );
  return notes;
}

function rankNote({ no_rank, higher_is_better }: IndicatorRecord): string {
  if (no_rank) return 'Countries are not ranked: the values are codes, or ranks would mislead.';
  return higher_is_better === false
    ? 'Rank 1 is the lowest value: lower is better. Equal values share a rank.'
    : `Rank 1 is the highest value${higher_is_better === null ? ', which does not mean the best' : ': higher is better'}. Equal values share a rank.`;
}

export async function relatedIndicators(edition: Edition, { id }: IndicatorRecord): Promise<RelatedEntry[]> {
  const body = await edition.indicatorBody(id);
  const { data } = JSON.parse(body.toString()) as { data: { related: RelatedEntry[] } };
  return data.related;
}

/** What recent editions changed, and since when none did. */
export async function recentChanges({ editions }: Edition, { id }: Pick<IndicatorRecord, 'id'>) {
  const { changes, since = null } = await editions.history.indicatorChanges(id);
  return { changes: changes.slice(0, CHANGES_MAX), since };
}

/**
 * In the styles that a page offers; `file` is the same as a file, null where there is none.
 * @param formula of what was derived; null for figures as published
 */
export async function citations(
  edition: Edition,
  { id, name: title }: IndicatorRecord,
  publicUrl: string,
  formula: string | null,
) {
  const cited = await citeIndicator(edition, id);
  if ('kind' in cited) throw new Error(`the edition has no ${id}`);
  const published = citationOf(cited, publicUrl);
  const note = `${published.note}; computed by Almanac: ${formula}`;
  const citation = formula === null ? published : { ...published, title, note };
  const csl = JSON.stringify([cslItem(citation)], null, 2);
  const file = (name: string) => (formula === null ? `/v1/indicators/${id}/${name}` : null);
  return [
    { style: 'APA', text: apa(citation), file: null },
    { style: 'BibTeX', text: bibtex(citation).trimEnd(), file: file('citation.bib') },
    { style: 'RIS', text: ris(citation).trimEnd(), file: null },
    { style: 'CSL-JSON', text: csl, file: file('citation.json') },
    { style: 'HTML', text: apaHtml(citation), file: null },
  ];
}

/**
 * The data set in the vocabulary of schema.org, for search engines.
 * @param publicUrl without a slash at its end
 */
export async function structuredDataSet(
  edition: Edition,
  record: IndicatorRecord,
  topic: string,
  publicUrl: string,
): Promise<object> {
  const { id, name, unit, licence, licence_url, attribution, provider, coverage } = record;
  const files = await indicatorFiles(edition, record, publicUrl);
  return {
    '@context': 'https://schema.org',
    '@type': 'Dataset',
    name: `${name} (${provider.name})`,
    description: dataSetDescription(record),
    identifier: id,
    url: `${publicUrl}/indicators/${id}`,
    version: edition.id,
    dateModified: edition.generatedAt,
    keywords: [topic],
    license: licence_url ?? licence,
    creditText: attribution,
    creator: { '@type': 'Organization', name: provider.name },
    publisher: { '@type': 'Organization', name: 'Almanac', url: publicUrl },
    ...(coverage !== null &&
      coverage.yr_min !== null && { temporalCoverage: `${coverage.yr_min}/${coverage.yr_max}` }),
    variableMeasured: { '@type': 'PropertyValue', name, ...(unit !== null && { unitText: unit }) },
    ...(files.length > 0 && {
      distribution: files.map(({ title, url, mediaType }) => ({
        '@type': 'DataDownload',
        name: title,
        contentUrl: url,
        encodingFormat: mediaType.split(';', 1)[0],
      })),
    }),
  };
}

/** Search engines want at least 50 characters. */
function dataSetDescription({ name, description, unit, provider, coverage }: IndicatorRecord): string {
  const what = `${nameWithUnit(name, unit)} by country and year, ${provider.name}`;
  const years =
    coverage === null || coverage.yr_min === null ? '' : `, ${yearsText(coverage.yr_min, coverage.yr_max)}`;
  return `${description === null ? '' : `${description} `}${what}${years}.`;
}
