/**
 * The encoders: one table in, bytes of a format out.
 *
 * - Whatever has rows is a `Table`: typed columns in batches. An operation makes it, and every format writes any table, or
 *   names in `columnsNeeded` and `rowsMax` what it cannot write.
 * - Bodies come in pieces, so memory does not grow with the length of an answer, and between two pieces the event loop gets
 *   a turn. Equal tables give equal bytes.
 * - Numbers keep all their digits, a missing cell is no value, and text is never read as markup or a formula.
 * - Binary files say in themselves what they hold, under which licence, and whom to credit.
 * - `documents/` describes data sets in the vocabularies of other software: citations, Data Package, Croissant, DCAT, Atom.
 * - Nothing here knows operations, snapshots, HTTP or keys.
 */

import { arrow } from './tables/arrow.ts';
import { parquet } from './tables/parquet.ts';
import { sdmxCsv } from './tables/sdmx-csv.ts';
import type { Encoder } from './tables/table.ts';
import { csv, json, ndjson } from './tables/text-formats.ts';
import { xlsx } from './tables/xlsx.ts';

export { ATOM_TYPE, atomFeed, type FeedSection, urnOf } from './documents/atom.ts';
export * from './documents/citations.ts';
export { CROISSANT_TYPE, croissant } from './documents/croissant.ts';
export type { DataFile, DataSet, DescribedColumn } from './documents/data-set.ts';
export { DATAPACKAGE_TYPE, dataPackage } from './documents/datapackage.ts';
export { type CatalogueEntry, dcatCatalogue, JSON_LD_TYPE } from './documents/dcat.ts';
export { escapedXml } from './documents/xml.ts';
export { type DatabaseTable, DUCKDB_TYPE, databaseFile } from './tables/duckdb.ts';
export { PARQUET_TYPE } from './tables/parquet.ts';
export { columnsOf, recordTable } from './tables/record-table.ts';
export * from './tables/table.ts';
export { csv, feedCsv } from './tables/text-formats.ts';
export { xlsx } from './tables/xlsx.ts';

/** The output formats of rows. The first is the default. */
export const ENCODERS: readonly [Encoder, ...Encoder[]] = [json, csv, ndjson, parquet, arrow, xlsx, sdmxCsv];

const [{ name: DEFAULT_FORMAT }, ...others] = ENCODERS;
/** Values of the `format` parameter. */
export const FORMATS: readonly [string, ...string[]] = [DEFAULT_FORMAT, ...others.map(({ name }) => name)];
export { DEFAULT_FORMAT };
/** Formats of what is no table of observations or ranks. */
export const LIST_FORMATS = [json.name, csv.name, ndjson.name] as const;
