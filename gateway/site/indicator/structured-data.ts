/** A description of an indicator's data set in the vocabulary of schema.org, for search engines. */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { indicatorFiles } from '../../api/operations/catalogue/data-files.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';
import { yearsText } from '../figures.ts';

interface Described {
  record: IndicatorRecord;
  topic: string;
  edition: Edition;
  /** Without a slash at its end; links are left out where it is not known. */
  publicUrl: string;
}

export async function structuredDataSet(described: Described): Promise<object> {
  const { record, topic, edition, publicUrl } = described;
  const { id, name, unit, licence, licence_url, attribution, provider, coverage } = record;
  const files = await indicatorFiles(edition, record, publicUrl);
  return {
    '@context': 'https://schema.org',
    '@type': 'Dataset',
    name: `${name} (${provider.name})`,
    description: descriptionOf(record),
    identifier: id,
    url: `${publicUrl}/indicators/${id}`,
    version: edition.id,
    dateModified: edition.generatedAt,
    keywords: [topic],
    license: licence_url ?? licence,
    creditText: attribution,
    creator: { '@type': 'Organization', name: provider.name },
    publisher: {
      '@type': 'Organization',
      name: 'Almanac',
      url: publicUrl,
    },
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
function descriptionOf({ name, description, unit, provider, coverage }: IndicatorRecord): string {
  const what = `${name}${unit === null ? '' : ` (${unit})`} by country and year, ${provider.name}`;
  const years =
    coverage === null || coverage.yr_min === null ? '' : `, ${yearsText(coverage.yr_min, coverage.yr_max)}`;
  return `${description === null ? '' : `${description} `}${what}${years}.`;
}
