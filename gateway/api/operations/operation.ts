/**
 * The contract of a public operation: parameters, price and plan, independent of any transport.
 *
 * `plan` reads one edition and knows neither key nor balance nor request. It never throws for what a caller did,
 * and counts the price before anything is formatted. `execute` decides whether the plan is admitted, charges it and
 * only then calls `produce`.
 */
import { z } from 'zod';
import type { IndicatorAlias } from '../../../data/schema/curated.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { type ApiError, type ErrorCode, truncateInput } from '../core/errors.ts';
import { creditOf, ENCODERS, type Encoder, type Table } from '../encoders/encoders.ts';
import type { CatalogueEntry, Edition, EditionQuery } from '../snapshot/snapshot.ts';
import type { QuerySchema } from './parameters/parameters.ts';
import { type Failure, toDetail, type ValidationDetail } from './parameters/validation.ts';

/** What an operation may know of its caller. */
export interface Caller {
  key_id: string;
  account_id: string;
  environment: 'live' | 'test' | 'mcp';
  scopes: readonly string[];
  tier: 'anonymous' | 'free' | 'paid';
  /** After this call was charged. */
  balance: number;
  /** A lease of the account covers the file that is asked for. */
  isLeased: boolean;
  now_ms: number;
  /** The account's balance and its usage over the last `days` UTC days, as a JSON value. */
  usage(days: number): Promise<object>;
}

/** A document about what an answer is about. */
export interface Description {
  path: string;
  mediaType: string;
}

/** Facts of a page or picture of the site. */
export interface PageFacts {
  /** 404 for a page about nothing. */
  status: 200 | 404;
  /** May be shown in frames of other sites. */
  isEmbeddable: boolean;
}

/** Under which terms something may be used. */
export type Credit = Pick<IndicatorRecord, 'attribution' | 'licence_url'>;

/** A file that is served as it is: a published one, or one that is made and held. */
export type WholeFile = { sha256: string; bytes: number } & (
  | {
      /** Where it lies, in its whole size. @throws {SnapshotUnreadable} */
      path(): Promise<string>;
    }
  | { held: Buffer }
);

/** The result of an operation before it is encoded for a transport. */
export type Content = {
  /** The indicator was asked for by a former id. */
  alias?: IndicatorAlias;
  /** Codes among the countries asked for that no country has. */
  unmatched?: readonly string[];
  describedBy?: readonly Description[];
  /** Search engines keep it out of their indexes. */
  isUnlisted?: true;
} & (
  | /** A prerendered JSON file of the served snapshot. */ { kind: 'file'; path: string }
  /** A finished document, JSON unless `mediaType` says otherwise. */
  | { kind: 'document'; json: Buffer; mediaType?: string; page?: PageFacts }
  /** A JSON document that is not written yet, for adapters that want the object. */
  | { kind: 'object'; value: Readonly<Record<string, unknown>> }
  | { kind: 'table'; table: Table; encoder: Encoder }
  /** @param name for a download. */
  | { kind: 'whole'; file: WholeFile; mediaType: string; name: string; credits: readonly Credit[] }
);

/** A success that costs `price` credits and serves `rows` rows. `caller` is null without a key. */
export interface Plan {
  kind: 'plan';
  price: number;
  rows: number;
  /** Ids of the indicators whose figures it serves, for the ledger. */
  indicators?: readonly string[];
  produce(caller: Caller | null): Content | Promise<Content>;
  /** The edition that answers, where it is not the served one: named by `execute` for `asOf`. */
  edition?: Edition;
  /** The file that it serves: its price is paid by lease. */
  file?: WholeFile;
}

/** Refused because of what the snapshot holds, or because of a parameter's value. */
export interface Refused {
  kind: 'refused';
  error: ApiError;
}

/** Refused because the parameters together ask for what no answer can hold. */
export interface Invalid {
  kind: 'invalid';
  detail: ValidationDetail[];
}

export type Planned = Plan | Refused | Invalid;

/** The edition that a call asks for. */
export interface AsOf {
  /** As `meta` repeats it. */
  sent: string;
  edition: EditionQuery;
}

export interface Input<Query> {
  /** The served edition, or the one that `asOf` names. */
  snapshot: Edition;
  /** Path parameters, decoded, as sent. */
  path: Readonly<Record<string, string>>;
  query: Query;
  /** Where callers reach the service, without a slash at its end. */
  publicUrl: string;
}

export interface PathParameter {
  description: string;
  /** Bounds beyond those of a string, for the machine-readable description. */
  schema?: { pattern: string } | { minLength: number };
}

export const idInPath = (of: 'Indicator' | 'Provider'): PathParameter => ({
  description: `${of} id, exact and case-sensitive`,
  schema: { minLength: 1 },
});

/** A format that no encoder writes. */
export interface OtherFormat {
  /** The value of the `format` parameter. */
  name: string;
  mediaType: string;
  /** For OpenAPI. */
  documentation: string;
}

export interface Operation<Query = unknown> {
  /** OpenAPI operation id. */
  name: string;
  /** Resource path without the version prefix: `/rankings/{indicator}`. Usage and ledger name the operation by it. */
  path: string;
  /** `Page` for what people look at: rate windows, security headers and errors are those of pages. */
  tag: 'Catalogue' | 'Data' | 'Account' | 'Page';
  summary: string;
  description: string;
  needsKey: boolean;
  /** For documentation: `free`, `1 credit`. */
  priceText: string;
  /** The answer depends on the snapshot and the parameters alone, and costs nothing. */
  isCacheable: boolean;
  /** Answers with a file, of which a part or only the head may be asked for. */
  isFile?: true;
  /** Gives figures as a file without a key, so many different ones an hour and address. */
  isDownload?: true;
  pathParameters: Readonly<Record<string, PathParameter>>;
  query: QuerySchema<Query>;
  /** The body of a success: JSON, or text where `mediaType` is of another kind. */
  answer: z.ZodType;
  /** With its parameters; absent where it is the usual one of JSON. */
  mediaType?: string;
  /** Encoders that `format` may name; none where the answer is always a JSON document. */
  formats?: readonly string[];
  /** What `format` may give besides JSON and the formats of encoders. */
  otherFormats?: readonly OtherFormat[];
  /** Errors beyond those that every operation of its kind has. */
  errors: readonly ErrorCode[];
  /** The edition that is asked for; undefined for the served one. By default the parameter `as_of`. */
  asOf?(query: Query): AsOf | undefined;
  plan(input: Input<Query>): Planned | Promise<Planned>;
}

export const asOfSent = (query: unknown): AsOf | undefined => (query as { as_of?: AsOf }).as_of;

const USUAL = { isCacheable: false, pathParameters: {}, errors: [], asOf: asOfSent };

export type Definition<Query> = Omit<Operation<Query>, keyof typeof USUAL> &
  Partial<Pick<Operation<Query>, keyof typeof USUAL>>;

/** Checks a definition against its own parameters, and adds what is usual. */
export const defineOperation = <Query>(definition: Definition<Query>): Operation<Query> => ({
  ...USUAL,
  ...definition,
});

/** Whether a call may cost something: such a call must not be misread. */
export const isPriced = ({ priceText }: Pick<Operation, 'priceText'>): boolean => priceText !== 'free';

/** A free plan. @param content that is ready, or what makes it */
export const free = (content: Content | Plan['produce']): Plan => ({
  kind: 'plan',
  price: 0,
  rows: 0,
  produce: typeof content === 'function' ? content : () => content,
});

export const document = (json: string): Content => ({ kind: 'document', json: Buffer.from(json) });

/** An operation of an adapter's own, which no reference lists: free, without parameters, answered with nothing. */
export const unlistedOperation = (
  name: string,
  path: string,
  tag: Operation['tag'],
  needsKey: boolean,
): Operation =>
  defineOperation({
    name,
    path,
    tag,
    needsKey,
    summary: '',
    description: '',
    priceText: 'free',
    query: z.object({}),
    answer: z.object({}),
    plan: () => free({ kind: 'object', value: {} }),
  });

/** The body of an `envelope`. */
export const jsonAnswer = (data: unknown, meta: { generated_at: string; [name: string]: unknown }): Content =>
  document(JSON.stringify({ data, meta }));

export const refused = (code: ErrorCode, message?: string): Refused => ({
  kind: 'refused',
  error: message === undefined ? { code } : { code, message },
});

/** @param failure or why a value makes no sense. @param input that is to blame */
export const invalid = (failure: Failure | string, loc: (string | number)[], input?: string): Invalid => {
  const known: Failure =
    typeof failure === 'string' ? { type: 'value_error', ctx: { error: failure } } : failure;
  return { kind: 'invalid', detail: [toDetail(known, loc, input)] };
};

/** Indicators that may not be redistributed are absent from the snapshot, so they are 404 and never 403. */
export async function indicatorNotFound(id: string, snapshot: Edition): Promise<Refused> {
  const nearest = (await snapshot.wholeCatalogue()).nearestIds(id);
  const hint = nearest.length === 0 ? '' : ` Nearest: ${nearest.join(', ')}.`;
  return refused('indicator_not_found', `No indicator has the id '${truncateInput(id)}'.${hint}`);
}

/** An indicator, by its id of today, and the alias if it was asked for by a former one. */
interface FoundIndicator {
  entry: CatalogueEntry;
  alias: IndicatorAlias | null;
}

export async function findIndicator(snapshot: Edition, asked: string): Promise<FoundIndicator | Refused> {
  const { id, alias } = snapshot.resolve(asked);
  const entry = await snapshot.indicator(id);
  return entry === undefined ? indicatorNotFound(asked, snapshot) : { entry, alias };
}

/** An indicator whose figures may be exported. @param isOneOf it is one of several: a refusal says which */
export async function findOpen(
  snapshot: Edition,
  asked: string,
  isOneOf = false,
): Promise<FoundIndicator | Refused> {
  const found = await findIndicator(snapshot, asked);
  if ('kind' in found || found.entry.record.access_tier !== 'display') return found;
  const message = `The provider's licence lets '${asked}' be shown but not exported.`;
  return refused('export_restricted', isOneOf ? message : undefined);
}

/** The encoder of a value of `format`; without one, the default. */
export const encoderOf = (format?: string): Encoder =>
  ENCODERS.find(({ name }) => name === format) ?? ENCODERS[0];

/** The most rows of one answer. */
export const ROWS_MAX = 1_000_000;

/** The refusal of an answer with more rows than one answer or its format holds, or null. */
export function rowBound(rows: number, { name, rowsMax = ROWS_MAX }: Encoder): Invalid | null {
  if (rows <= rowsMax) return null;
  const other = rows > ROWS_MAX ? '' : ' or in another format';
  const advice = `ask for less${other}, or take whole indicators from /v1/files/{indicator_id}.parquet`;
  const failure: Failure = { type: 'too_many_rows', ctx: { max_rows: rowsMax, advice } };
  return rowsMax < ROWS_MAX ? invalid(failure, ['query', 'format'], name) : invalid(failure, ['query']);
}

/** The refusal of a table that lacks a column which the format needs, or null. */
function lackingColumns({ columns }: Table, { name, columnsNeeded = [] }: Encoder): Invalid | null {
  if (columnsNeeded.every((needed) => columns.some((column) => column.name === needed))) return null;
  const error = `this format needs the columns ${columnsNeeded.join(', ')}: ask for them, or in another format`;
  return invalid(error, ['query', 'format'], name);
}

/** The plan of an answer with rows, or why its format cannot hold them. */
export function tablePlan(
  table: Table,
  encoder: Encoder,
  { price, indicators }: Pick<Plan, 'price' | 'indicators'>,
): Plan | Invalid {
  const refusal = rowBound(table.rows, encoder) ?? lackingColumns(table, encoder);
  if (refusal !== null) return refusal;
  const produce = (): Content => ({ kind: 'table', table, encoder });
  return { kind: 'plan', price, rows: table.rows, ...(indicators && { indicators }), produce };
}

const telling = (planned: Planned, more: Pick<Content, 'alias' | 'unmatched'>): Planned =>
  planned.kind === 'plan'
    ? { ...planned, produce: async (caller) => ({ ...(await planned.produce(caller)), ...more }) }
    : planned;

/** The plan, naming the former id by which the indicator was asked for. */
export const underAlias = (planned: Planned, alias: IndicatorAlias | null): Planned =>
  alias === null ? planned : telling(planned, { alias });

/** The plan, naming codes that no country has. */
export function withUnmatched(
  planned: Planned,
  codes: readonly string[] | undefined,
  edition: Edition,
): Planned {
  const unmatched = codes?.filter((code) => !edition.countriesByCode.has(code)) ?? [];
  return unmatched.length === 0 ? planned : telling(planned, { unmatched });
}

/** A whole body, `{ data, meta }`, with more members in `meta`. */
export function withMeta(body: Buffer, more: Record<string, unknown>): Content {
  const end = Buffer.from(`,${JSON.stringify(more).slice(1)}}`);
  return { kind: 'document', json: Buffer.concat([body.subarray(0, -2), end]) };
}

/** Whose figures an answer of one indicator has, for `meta`. */
export function creditOfOne(record: IndicatorRecord) {
  const { id: indicator, ...credit } = creditOf(record);
  return { indicator, ...credit };
}

/** The filters that were sent, for `meta`: a filter that was not sent is absent, never null. */
export function sentOnly(filters: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}
