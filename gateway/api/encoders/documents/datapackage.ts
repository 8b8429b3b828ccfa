/**
 * Data Package v2 (Frictionless): what there is to download, column by column. A package needs a resource, so each has the
 * records of its indicators in itself; a display-only indicator has that resource alone.
 */
import { indicatorRecord } from '../../../../data/schema/records.ts';
import { columnsOf, recordCells } from '../tables/record-table.ts';
import type { Column, ColumnType } from '../tables/table.ts';
import {
  type DataFile,
  type DataSet,
  type DescribedColumn,
  type Licence,
  licencesOf,
  PUBLISHER,
} from './data-set.ts';

export const DATAPACKAGE_TYPE = 'application/vnd.datapackage+json; charset=utf-8';

const PROFILES = 'https://datapackage.org/profiles/2.0';

/** Identifiers of the Open Definition. A licence without one is named by its address. */
const OPEN_LICENCES: Readonly<Record<string, string>> = {
  'CC BY 4.0': 'CC-BY-4.0',
  'CC BY-SA 4.0': 'CC-BY-SA-4.0',
  'CC0 1.0': 'CC0-1.0',
  'ODbL 1.0': 'ODbL-1.0',
};

const FIELD_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'string',
  integer: 'integer',
  double: 'number',
  boolean: 'boolean',
};

/** What a record has besides what the order of lists and rankings follow from. */
const RECORD_COLUMNS = columnsOf(
  indicatorRecord.omit({
    higher_is_better: true,
    preferred: true,
    featured: true,
    no_rank: true,
    provider: true,
  }),
);

export function dataPackage(set: DataSet): string {
  const { citation, description, keywords, indicators, sources, files } = set;
  const { key, title, version, url, note, published_at, authors } = citation;
  const licenses = licencesOf(indicators).flatMap(license);
  return JSON.stringify({
    $schema: `${PROFILES}/datapackage.json`,
    name: key.toLowerCase(),
    title,
    description: `${description}\n\n${note}`,
    id: url,
    homepage: url,
    version,
    created: published_at,
    ...(keywords.length > 0 && { keywords }),
    ...(licenses.length > 0 && { licenses }),
    contributors: [
      ...authors.map((author) => ({ title: author, roles: ['author'] })),
      { title: PUBLISHER, roles: ['publisher'] },
    ],
    ...(sources.length > 0 && {
      sources: sources.map((source) => ({ title: source.name, ...(source.url && { path: source.url }) })),
    }),
    resources: [...files.map(fileResource), recordResource(set)],
  });
}

/** None for a licence that has neither an identifier nor an address: the description names it. */
function license({ licence, licence_url }: Licence): object[] {
  const name = OPEN_LICENCES[licence];
  if (name === undefined && licence_url === null) return [];
  return [{ ...(name && { name }), ...(licence_url && { path: licence_url }), title: licence }];
}

/** Without size and hash: frictionless does not compute those of Parquet, and refuses a table that states them. */
const fileResource = (file: DataFile): object => ({
  name: resourceName(file.name),
  type: 'table',
  title: file.title,
  path: file.url,
  format: file.format,
  mediatype: file.mediaType.split(';', 1)[0],
  ...(file.format === 'csv' && { encoding: 'utf-8' }),
  ...(file.hasAllColumns && { schema: tableSchema(file) }),
});

/** All columns, in their order: a schema means no less. */
const tableSchema = ({ columns, key }: DataFile): object => ({
  $schema: `${PROFILES}/tableschema.json`,
  fields: columns.map(describedField),
  missingValues: [''],
  primaryKey: key,
});

const recordResource = ({ indicators }: DataSet): object => ({
  name: 'indicators',
  type: 'table',
  title: 'Records of the indicators: unit, licence, credit line, coverage',
  data: indicators.map((record) => recordCells(RECORD_COLUMNS, record)),
  schema: {
    $schema: `${PROFILES}/tableschema.json`,
    fields: RECORD_COLUMNS.map(field),
    primaryKey: ['id'],
  },
});

const resourceName = (fileName: string): string => fileName.toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-');

const field = ({ name, type }: Column): object => ({ name, type: FIELD_TYPES[type] });

const describedField = ({ description, unit, ...column }: DescribedColumn): object => ({
  ...field(column),
  description,
  ...(unit !== null && { unit }),
});
