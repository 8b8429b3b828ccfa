/**
 * The operations: everything that can be asked for, a file each, by subject.
 *
 * - An operation is a value: schemas of its parameters and of its answer, a price, and `plan`. Adapters derive routes, tools
 *   and documentation from the list, and pass values; a new adapter changes no operation.
 * - `plan` reads one edition and knows neither key nor balance nor request. It never throws for what a caller did, and
 *   counts the price before anything is formatted; `produce` runs after the charge.
 * - A priced operation refuses parameters that it does not know, or that are sent twice; a free one names them.
 * - Figures whose licence forbids export leave by no operation; what is refused costs nothing.
 * - Whatever has rows is planned by `tablePlan` as a table that every format can write.
 * - Nothing here knows HTTP, MCP or metering.
 */

import { ping, usage } from './account.ts';
import { country } from './catalogue/country.ts';
import { database } from './catalogue/database.ts';
import { indicator } from './catalogue/indicator.ts';
import { indicators } from './catalogue/indicators.ts';
import { search } from './catalogue/search.ts';
import { countries, coverage, freshness, groups, topics } from './catalogue/short-lists.ts';
import { catalog, subjectDocuments } from './catalogue/subject-documents.ts';
import { changes } from './history/changes.ts';
import { editions } from './history/editions.ts';
import { revisions } from './history/revisions.ts';
import { data } from './observations/data.ts';
import { files } from './observations/files.ts';
import { rankings } from './observations/rankings.ts';
import type { Operation } from './operation.ts';
import { consistency, receipts } from './proofs/receipts.ts';
import { verify } from './proofs/verify.ts';

export { country } from './catalogue/country.ts';
export { indicatorFiles } from './catalogue/data-sets.ts';
export { detailWithAdditions, indicatorWithAdditions } from './catalogue/include.ts';
export { indicator } from './catalogue/indicator.ts';
export { indicators, LIMIT_MAX } from './catalogue/indicators.ts';
export { type Found, findSeries } from './catalogue/search.ts';
export { countries, groups, topics } from './catalogue/short-lists.ts';
export { citationOf, citeIndicator, describedBy } from './catalogue/subjects.ts';
export { dryRunAnswer } from './envelope.ts';
export { revisions } from './history/revisions.ts';
export { data, type FoundRows, findRows, priceOfRows } from './observations/data.ts';
export { DATA_ANSWERS } from './observations/data-answer.ts';
export { rankDerived, rankYear } from './observations/derived-ranking.ts';
export { indicatorFile } from './observations/files.ts';
export { publishedRows } from './observations/long-table.ts';
export { RANKING_PRICE, rankings } from './observations/rankings.ts';
export type { RowDetail, RowSource } from './observations/row-source.ts';
export {
  type AsOf,
  asOfSent,
  type Caller,
  type Content,
  type Credit,
  type Description,
  defineOperation,
  document,
  encoderOf,
  findOpen,
  free,
  type Input,
  type Invalid,
  invalid,
  isPriced,
  type Operation,
  type PageFacts,
  type Plan,
  type Planned,
  type Refused,
  ROWS_MAX,
  refused,
  unlistedOperation,
  type WholeFile,
} from './operation.ts';
export { asOf, findEdition, momentIn } from './parameters/as-of.ts';
export {
  COUNTRY_CODE,
  type Controls,
  checkValues,
  controls,
  fail,
  hasTooManyPairs,
  integer,
  NO_PARAMETERS,
  oneOf,
  PAIRS_MAX,
  type ParameterReader,
  type ParameterReading,
  parameterName,
  parameterReader,
  parseQueryString,
  type QuerySchema,
  type RawParameters,
  text,
} from './parameters/parameters.ts';
export {
  GROUP_MARK,
  GROUPS,
  PLACE_ECHO_MAX,
  placeNamed,
  placesBeginning,
  servedMembers,
} from './parameters/place-names.ts';
export { countryCodes } from './parameters/places.ts';
export {
  toDetail,
  type ValidationDetail,
  validationBody,
  validationDetail,
} from './parameters/validation.ts';
export { CLAIMS_MAX } from './proofs/claim-parameter.ts';
export { receipts } from './proofs/receipts.ts';
export { verdictRow, verify } from './proofs/verify.ts';

export const OPERATIONS: readonly Operation[] = [
  countries,
  country,
  groups,
  indicators,
  indicator,
  search,
  topics,
  freshness,
  coverage,
  editions,
  changes,
  catalog,
  rankings,
  data,
  ...files,
  revisions,
  receipts,
  consistency,
  verify,
  usage,
  ping,
  ...subjectDocuments,
  database,
];
