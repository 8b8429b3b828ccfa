/** Croissant 1.1, the vocabulary of machine learning over schema.org/Dataset. */

import type { ColumnType } from '../tables/table.ts';
import { bibtex } from './citations.ts';
import {
  type DataFile,
  type DataSet,
  type DescribedColumn,
  isoYear,
  licencesOf,
  PUBLISHER,
  yearsOf,
} from './data-set.ts';

const CROISSANT = 'http://mlcommons.org/croissant/1.1';
export const CROISSANT_TYPE = `application/ld+json; profile="${CROISSANT}"`;

/** Terms of Croissant's own namespace. Readers expect them all in the context, used or not. */
const TERMS = (
  'arrayShape citeAs column containedIn equivalentProperty extract field fileObject fileProperty fileSet format includes ' +
  'isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate ' +
  'separator source subField transform'
).split(' ');

const CONTEXT = {
  '@language': 'en',
  '@vocab': 'https://schema.org/',
  sc: 'https://schema.org/',
  cr: 'http://mlcommons.org/croissant/',
  rai: 'http://mlcommons.org/croissant/RAI/',
  dct: 'http://purl.org/dc/terms/',
  conformsTo: 'dct:conformsTo',
  data: { '@id': 'cr:data', '@type': '@json' },
  dataType: { '@id': 'cr:dataType', '@type': '@vocab' },
  examples: { '@id': 'cr:examples', '@type': '@json' },
  ...Object.fromEntries(TERMS.map((term) => [term, `cr:${term}`])),
};

const DATA_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'sc:Text',
  integer: 'sc:Integer',
  double: 'sc:Float',
  boolean: 'sc:Boolean',
};

/** A file whose content is fixed; Croissant describes no others. */
type FixedFile = DataFile & { content: NonNullable<DataFile['content']> };

const isFixed = (file: DataFile): file is FixedFile => file.content !== null;

export function croissant({ citation, description, keywords, indicators, files }: DataSet): string {
  const { title, url, authors, published_at, version, note } = citation;
  const years = yearsOf(indicators);
  const fixed = files.filter(isFixed);
  return JSON.stringify({
    '@context': CONTEXT,
    '@type': 'sc:Dataset',
    conformsTo: CROISSANT,
    name: title,
    description,
    url,
    license: licencesOf(indicators).map(({ licence, licence_url }) => licence_url ?? licence),
    creditText: note,
    creator: authors.map(organization),
    publisher: organization(PUBLISHER),
    datePublished: published_at,
    version,
    citeAs: bibtex(citation),
    ...(keywords.length > 0 && { keywords }),
    inLanguage: 'en',
    ...(years !== null && { temporalCoverage: `${isoYear(years.first)}/${isoYear(years.last)}` }),
    isAccessibleForFree: false,
    variableMeasured: indicators.map(({ id, name, unit }) => ({
      '@type': 'sc:PropertyValue',
      propertyID: id,
      name,
      ...(unit !== null && { unitText: unit }),
    })),
    ...(fixed.length > 0 && { distribution: fixed.map(fileObject), recordSet: fixed.map(recordSet) }),
  });
}

const organization = (name: string): object => ({ '@type': 'sc:Organization', name });

const fileObject = ({ name, title, url, mediaType, content }: FixedFile): object => ({
  '@type': 'cr:FileObject',
  '@id': name,
  name,
  description: title,
  contentUrl: url,
  contentSize: `${content.bytes} B`,
  encodingFormat: ENCODING_FORMATS[mediaType] ?? mediaType,
  sha256: content.sha256,
});

/** Readers of Croissant know Parquet by the name that it had before it was registered. */
const ENCODING_FORMATS: Readonly<Record<string, readonly string[]>> = {
  'application/vnd.apache.parquet': ['application/x-parquet', 'application/vnd.apache.parquet'],
};

function recordSet({ name, title, columns, key }: FixedFile): object {
  const id = name.replace(/\.[a-z]+$/, '');
  return {
    '@type': 'cr:RecordSet',
    '@id': id,
    name: id,
    description: title,
    key: key.map((column) => ({ '@id': `${id}/${column}` })),
    field: columns.map((column) => fieldOf(column, id, name)),
  };
}

const fieldOf = ({ name, type, description, unit }: DescribedColumn, set: string, file: string): object => ({
  '@type': 'cr:Field',
  '@id': `${set}/${name}`,
  name,
  description: unit === null ? description : `${description} (${unit})`,
  dataType: DATA_TYPES[type],
  source: { fileObject: { '@id': file }, extract: { column: name } },
});
