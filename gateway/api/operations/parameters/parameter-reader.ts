/**
 * Reads the parameters of a request: known ones are checked, the others ignored or refused.
 *
 * A priced operation refuses a parameter that it does not know, or that is sent twice: a misspelt filter would otherwise
 * sell the whole series. A free one ignores them and names them, and refuses them on request (`isStrict`).
 */
import { distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { truncateInput } from '../../core/errors.ts';
import type { QuerySchema } from '../operation.ts';
import { type Controls, controls } from './controls.ts';
import {
  NO_PARAMETERS,
  type RawParameters,
  type RawValue,
  repeatedValues,
  UNREADABLE,
} from './parameters.ts';
import { type Failure, toDetail, type ValidationDetail } from './validation.ts';

export type ParameterReading<Values> =
  | {
      ok: true;
      values: Values;
      /** Of a priced operation. */
      controls: Controls;
      /** Names of parameters that were ignored: unknown ones, and repeated ones of which the last counted. */
      ignored: readonly string[];
    }
  | { ok: false; detail: ValidationDetail[] };

export interface ParameterReader<Values> {
  /** @param isStrict refuses what would be ignored. */
  (sent: RawParameters, isStrict?: boolean): ParameterReading<Values>;
  /** The parameters that count, by name: whether all their values do, or the last one. */
  readonly known: ReadonlyMap<string, { isRepeatable: boolean }>;
}

/** Ignored without a word: a key in a query string is no credential, and must not be repeated anywhere. */
const CREDENTIALS: ReadonlySet<string> = new Set(['key', 'api_key', 'apikey', 'token', 'access_token']);

/** Most parameters that an answer names as ignored or refused. */
export const NAMED_AT_MOST = 20;

/**
 * Makes the reader of an operation's parameters. A parameter that is described as an array may be repeated, and its schema
 * gets a list. The result for no parameters is computed once, because most requests have none.
 */
export function parameterReader<Values>(
  schema: QuerySchema<Values>,
  isPriced = false,
): ParameterReader<Values> {
  const shared: QuerySchema<Controls> = isPriced ? controls : NO_SCHEMA;
  const known = new Map([...parametersOf(schema), ...parametersOf(shared)]);
  const readKnown = (sent: RawParameters): ParameterReading<Values> => {
    const { values, unreadable } = valuesOf(sent, known);
    if (unreadable.length > 0) return { ok: false, detail: unreadable };
    const own = checkValues(schema, values);
    const common = checkValues(shared, values);
    if (own.ok && common.ok) return { ...own, controls: common.values, ignored: NOTHING };
    return { ok: false, detail: [own, common].flatMap((part) => (part.ok ? [] : part.detail)) };
  };
  const withoutParameters = readKnown(NO_PARAMETERS);
  const read = (sent: RawParameters, isStrict = false): ParameterReading<Values> => {
    if (sent === NO_PARAMETERS) return withoutParameters;
    const reading = readKnown(sent);
    const surplus = surplusOf(sent, known);
    if (surplus.length === 0) return reading;
    if (isPriced || isStrict) {
      const own = reading.ok ? [] : reading.detail;
      return { ok: false, detail: [...own, ...surplus.map((one) => surplusDetail(one, [...known.keys()]))] };
    }
    return reading.ok ? { ...reading, ignored: surplus.map(({ name }) => name) } : reading;
  };
  return Object.assign(read, { known });
}

const NO_SCHEMA = z.object({});
const NOTHING: readonly string[] = [];

const parametersOf = ({ shape }: QuerySchema<unknown>): [string, { isRepeatable: boolean }][] =>
  Object.entries(shape).map(([name, parameter]) => [
    name,
    { isRepeatable: z.toJSONSchema(parameter, { io: 'input' }).type === 'array' },
  ]);

function valuesOf(
  sent: RawParameters,
  known: ParameterReader<unknown>['known'],
): { values: KnownValues; unreadable: ValidationDetail[] } {
  const values: Record<string, string | readonly string[] | undefined> = {};
  const unreadable: ValidationDetail[] = [];
  for (const [name, { isRepeatable }] of known) {
    const last = sent[name];
    if (last === undefined) continue;
    const all: readonly RawValue[] = isRepeatable ? (repeatedValues(sent).get(name) ?? [last]) : [last];
    const texts = all.filter((value) => typeof value === 'string');
    values[name] = isRepeatable ? texts : texts[0];
    unreadable.push(...unreadableAt(all).map((at) => unreadableDetail(name, isRepeatable ? [at] : [])));
  }
  return { values, unreadable };
}

/** A parameter that does not count, or not wholly. */
interface Surplus {
  name: string;
  value: RawValue | undefined;
  type: 'extra_forbidden' | 'repeated';
}

function surplusOf(sent: RawParameters, known: ParameterReader<unknown>['known']): Surplus[] {
  const surplus: Surplus[] = [];
  const repeated = repeatedValues(sent);
  for (const name in sent) {
    if (CREDENTIALS.has(name) && !known.has(name)) continue;
    const parameter = known.get(name);
    const value = sent[name];
    if (parameter === undefined) surplus.push({ name, value, type: 'extra_forbidden' });
    else if (repeated.has(name) && !parameter.isRepeatable) surplus.push({ name, value, type: 'repeated' });
    if (surplus.length === NAMED_AT_MOST) break;
  }
  return surplus;
}

function surplusDetail({ name, value, type }: Surplus, known: readonly string[]): ValidationDetail {
  const loc = ['query', truncateInput(name)];
  if (type === 'repeated') return toDetail({ type }, loc, undefined);
  const nearest = nearestOf(name, known);
  const failure: Failure = nearest === undefined ? { type } : { type, ctx: { nearest } };
  return toDetail(failure, loc, typeof value === 'string' ? value : undefined);
}

/** Longer than every known name: what follows makes no name nearer. */
const COMPARED_MAX = 40;

function nearestOf(name: string, known: readonly string[]): string | undefined {
  const compared = name.slice(0, COMPARED_MAX).toLowerCase();
  return known
    .map((candidate) => ({ candidate, steps: distance(compared, candidate) }))
    .toSorted((a, b) => a.steps - b.steps)[0]?.candidate;
}

const unreadableAt = (values: readonly RawValue[]): number[] =>
  [...values.keys()].filter((at) => values[at] === UNREADABLE);

const unreadableDetail = (name: string, index: number[]): ValidationDetail =>
  toDetail({ type: 'string_unicode' }, ['query', name, ...index], undefined);

type KnownValues = Readonly<Record<string, unknown>>;

type Checked<Values> = { ok: true; values: Values } | { ok: false; detail: ValidationDetail[] };

/** @param known values by name, each as its text or as itself */
export function checkValues<Values>(schema: z.ZodType<Values>, known: KnownValues): Checked<Values> {
  const parsed = schema.safeParse(known);
  if (parsed.success) return { ok: true, values: parsed.data };
  return { ok: false, detail: parsed.error.issues.map((issue) => issueDetail(issue, known)) };
}

function issueDetail(issue: z.core.$ZodIssue, known: KnownValues): ValidationDetail {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  const failure = issue.code === 'custom' ? (issue.params?.failure as Failure | undefined) : undefined;
  const sent = known[String(path[0])];
  const input = typeof sent === 'string' ? sent : undefined;
  return toDetail(failure ?? { type: 'missing' }, ['query', ...path], input);
}
