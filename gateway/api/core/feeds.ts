/**
 * The calls that feed links freeze, and what is served of them.
 *
 * A call is planned as CSV whatever the link's format: its rows are those of an export, under the rules of an export, and each
 * format writes the same table. What is paid is named by a digest of the rows, which does not change when only the edition does.
 */
import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import { z } from 'zod';
import { ENCODERS, type Encoder, feedCsv } from '../encoders/encoders.ts';
import { FEED_FORMATS, type FeedTerms } from '../metering/metering.ts';
import {
  type Content,
  country,
  data,
  fail,
  integer,
  invalid,
  momentIn,
  type Operation,
  oneOf,
  type ParameterReader,
  type Planned,
  parameterReader,
  parseQueryString,
  type RawParameters,
  rankings,
  revisions,
  text,
  type ValidationDetail,
} from '../operations/operations.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { QueueFull } from './errors.ts';
import { planCall, type Unplanned } from './plan-call.ts';

const NAME_MAX = 100;
const QUERY_MAX = 2_000;
const CAP_MAX = 1_000_000_000;
/** What a sheet of every format holds. */
const ROWS_MAX = 100_000;

const OPERATIONS: readonly Operation[] = [data, rankings, revisions, country];
/** The calls that a link may freeze. */
const FROZEN = OPERATIONS.map((operation) => ({
  operation: {
    ...operation,
    plan: async (input) => bounded(await operation.plan(input)),
  } satisfies Operation,
  /** Of path and query under either prefix, the query apart. */
  pattern: new RegExp(
    `^(?:/data/api)?/v1${operation.path.replaceAll(/\{([^}]+)\}/g, '(?<$1>[^/?]+)')}(?:[?](?<query>.*))?$`,
    's',
  ),
  readQuery: parameterReader(operation.query),
}));

function bounded(planned: Planned): Planned {
  if (planned.kind !== 'plan' || planned.rows <= ROWS_MAX) return planned;
  return invalid({ type: 'too_many_rows', ctx: { max_rows: ROWS_MAX, advice: 'ask for less' } }, ['query']);
}

/**
 * What a link asks for. Null where no call that may be frozen has this path.
 * @param sent path and query, with or without the service's address
 */
export function readFrozenCall(sent: string) {
  const resource = sent.trim().replace(/^https?:\/\/[^/]+/, '');
  for (const { operation, pattern, readQuery } of FROZEN) {
    const found = pattern.exec(resource);
    if (found === null) continue;
    const { query = '', ...segments } = found.groups ?? {};
    const path: Record<string, string> = {};
    try {
      for (const name in segments) path[name] = decodeURIComponent(segments[name] ?? '');
    } catch {
      return null;
    }
    // A format in the query is refused as one that is sent twice.
    const parameters = parseQueryString(query === '' ? CSV : `${query}&${CSV}`);
    const reading = readQuery(parameters, true);
    /** Path and query in one form, without what is ignored. */
    const frozen = canonical(operation, path, parameters, readQuery);
    return { operation, path, reading, query: frozen };
  }
  return null;
}

const CSV = `format=${feedCsv.name}`;

/** Without anything that is no parameter, such as a key. */
function canonical(
  operation: Operation,
  path: Readonly<Record<string, string>>,
  parameters: RawParameters,
  { known }: ParameterReader<unknown>,
): string {
  const resource = operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  );
  const pairs = Object.entries(parameters)
    .filter(([name]) => known.has(name) && name !== 'format')
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`);
  return `/v1${resource}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

const bounds = (max_length: number) =>
  text().transform((sent, ctx): string => {
    const trimmed = sent.trim();
    if (trimmed === '') return fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 } });
    return trimmed.length <= max_length
      ? trimmed
      : fail(ctx, { type: 'string_too_long', ctx: { max_length } });
  });

/** What is sent to make a link. */
export const feedRequest = z.object({
  name: bounds(NAME_MAX)
    .describe(`What the link is called in lists, at most ${NAME_MAX} characters`)
    .meta({ type: 'string', minLength: 1, maxLength: NAME_MAX }),
  query: bounds(QUERY_MAX)
    .describe(
      `Path and query of the call that the link answers, without \`format\`: ${FROZEN.map(({ operation }) => `\`/v1${operation.path}\``).join(', ')}`,
    )
    .meta({ type: 'string', minLength: 1, maxLength: QUERY_MAX }),
  format: oneOf(FEED_FORMATS).describe('What the link ends with'),
  monthly_cap: integer({ min: 1, max: CAP_MAX }).describe(
    'Most credits that the link may spend in a calendar month (UTC)',
  ),
  expires_at: text()
    .transform((sent, ctx): number => {
      const expected = 'a date (YYYY-MM-DD) or a timestamp with UTC offset';
      return momentIn(sent) ?? fail(ctx, { type: 'string_pattern_mismatch', ctx: { expected } });
    })
    .optional()
    .describe('When the link ends: a date (its end, UTC) or a timestamp; absent for never')
    .meta({ type: 'string' }),
});

const readRequest = parameterReader(feedRequest);

export type CheckedFeed =
  | { kind: 'terms'; terms: FeedTerms /** Of the answer today. */; price: number }
  | Unplanned;

/**
 * The terms of a link that is asked for, and what it would cost now. Costs nothing.
 * @param sent each as its text. Faults are located in `body`.
 */
export async function checkFeed(
  sent: Readonly<Record<string, string>>,
  { snapshot, publicUrl, now_ms }: { snapshot: Snapshot; publicUrl: string; now_ms: number },
): Promise<CheckedFeed> {
  const read = readRequest(sent, true);
  if (!read.ok) return { kind: 'invalid', detail: read.detail.map(inBody) };
  const { expires_at: expires_at_ms = null, ...rest } = read.values;
  const call = readFrozenCall(rest.query);
  if (call === null) return unfit('query', 'a feed link answers the calls that it is documented for');
  const { operation, path, reading, query } = call;
  if (!reading.ok) return { kind: 'invalid', detail: reading.detail.map(inQuery) };
  if (expires_at_ms !== null && expires_at_ms <= now_ms)
    return unfit('expires_at', 'a feed link must expire in the future');
  const planned = await planCall({ operation, path, publicUrl, readQuery: () => reading }, snapshot);
  if (planned.kind === 'invalid') return { kind: 'invalid', detail: planned.detail.map(inQuery) };
  if (planned.kind === 'error') return planned;
  const { price } = planned;
  if (price > rest.monthly_cap)
    return unfit('monthly_cap', `the answer costs ${price} credits today, which is more than the cap`);
  return { kind: 'terms', terms: { ...rest, query, expires_at_ms }, price };
}

const inBody = (detail: ValidationDetail): ValidationDetail => ({
  ...detail,
  loc: ['body', ...detail.loc.slice(1)],
});
const inQuery = (detail: ValidationDetail): ValidationDetail => ({ ...detail, loc: ['body', ...detail.loc] });

const unfit = (field: string, error: string): Unplanned => invalid(error, ['body', field]);

/** Of a link's format. */
export const feedEncoder = (format: string): Encoder =>
  [feedCsv, ...ENCODERS].find(({ name }) => name === format) ?? feedCsv;

/** Bodies are held whole: few are made at once, so that memory is bounded. */
const MAKING_MAX = 4;
const WAITING_MAX = 512;
const making = pLimit(MAKING_MAX);

/** What a link serves, before it is compressed. Rejects with `QueueFull`, `QueryTimeout`, `SnapshotUnreadable`. */
export async function writeFeed(content: RowContent, format: string) {
  if (making.pendingCount >= WAITING_MAX) throw new QueueFull(`${WAITING_MAX} feeds wait to be written`);
  return making(() => writeRows(content, format));
}

type RowContent = Content & { kind: 'table' };

async function writeRows(content: RowContent, format: string) {
  const table = { ...content.table, meta: { ...content.table.meta, format } };
  const rows = await Array.fromAsync(feedCsv.stream(table));
  const digest = createHash('sha256');
  for (const piece of rows) digest.update(piece);
  const encoder = feedEncoder(format);
  const pieces = encoder === feedCsv ? rows : await Array.fromAsync(encoder.stream(table));
  /** Digest of the rows alone. */
  return { digest: digest.digest('base64url'), pieces, encoder };
}
