/**
 * What every tool answers: one object, sent both as structured content and as text. Figures stand in tables that say once what
 * is the same in all rows, and `series` holds what all figures of an indicator share: unit, source and licence. Neither the
 * text nor the structured content is longer than `TOKENS_MAX`.
 */
import { z } from 'zod';
import { type IndicatorRecord, indicatorId, iso3 } from '../../../data/schema/records.ts';
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import type { Edition } from '../snapshot/snapshot.ts';
import { type FigureTable, figureTable, isTable } from './figure-tables.ts';
import { pageMember } from './pages.ts';

/** Why a question has no figure: a closed list. */
export const REFUSALS = ['no_data', 'not_held', 'unknown_place', 'ambiguous_place', 'not_a_country'] as const;

/** Said wherever a figure is missing: a model fills gaps from memory unless it is told not to. */
const NOTHING_ESTIMATED = 'Nothing may be estimated, interpolated or taken from memory in its place';
export const NO_ESTIMATE = `${NOTHING_ESTIMATED}: say that Almanac holds no such figure.`;

/** @returns the message of a refusal, which always forbids estimates */
const forbidding = (message: string): string =>
  message.includes(NOTHING_ESTIMATED) ? message : `${message} ${NOTHING_ESTIMATED}.`;

const placeChoice = z.union([
  z.object({ iso3, name: z.string() }),
  z.object({ group: z.string(), name: z.string() }),
]);

export const refusal = z.object({
  reason: z.enum(REFUSALS),
  message: z.string(),
  place: z.string().optional().describe('The place as it was asked for'),
  indicator: z.string().optional(),
  candidates: z
    .array(placeChoice)
    .optional()
    .describe('Countries and groups that may be meant: ask the user which'),
  similar_indicators: z.array(z.string()).optional(),
  nearest_years: z.array(z.int()).optional().describe('The nearest years for which a figure is held'),
});
export type Refusal = z.infer<typeof refusal>;

export const series = z.object({
  indicator: indicatorId,
  name: z.string(),
  unit: z.string().nullable(),
  source: z.string().describe('Credit line: it must be published with the figures'),
  licence: z.string(),
  licence_url: z.string().nullable(),
  url: z.string().describe('Page with chart, sources and citation'),
});
export type Series = z.infer<typeof series>;

/** Members of every answer. */
export const common = {
  outcome: z.enum(['answer', 'refused', 'error']),
  message: z.string(),
  edition: z.string().nullable(),
  error: z
    .object({
      code: z.enum(['invalid_arguments', ...(Object.keys(ERRORS) as ErrorCode[])]),
      message: z.string(),
      retry_after_s: z.int().optional(),
    })
    .optional(),
  credits: z.object({ charged: z.int(), balance: z.int() }).optional(),
};

/** Members of answers with figures. */
export const withFigures = {
  ...common,
  as_of: z.string().optional(),
  transform: z.array(z.string()).optional(),
  formula: z.string().optional(),
  figures: z
    .array(figureTable)
    .describe('Tables: `same` holds in each row. Values are exact; `projected` ones are forecasts'),
  series: z.array(series),
  refusals: z.array(refusal),
  refusals_left_off: z.int().optional(),
  groups: z.array(z.object({ group: z.string(), name: z.string(), members: z.array(iso3) })).optional(),
  page: pageMember,
};

export interface Answer {
  outcome: 'answer' | 'refused' | 'error';
  message: string;
  edition: string | null;
  [member: string]: unknown;
}

export const seriesOf = (record: IndicatorRecord, publicUrl: string): Series => ({
  indicator: record.id,
  name: record.name,
  unit: record.unit,
  source: record.attribution,
  licence: record.licence,
  licence_url: record.licence_url,
  url: `${publicUrl}/indicators/${record.id}`,
});

/** Those of some indicators that the edition has, each once. */
export async function seriesOfAll(
  ids: Iterable<string>,
  edition: Edition,
  publicUrl: string,
): Promise<Series[]> {
  const all: Series[] = [];
  for (const id of new Set(ids)) {
    const entry = await edition.indicator(id);
    if (entry) all.push(seriesOf(entry.record, publicUrl));
  }
  return all;
}

/** With places of `PLACE_ECHO_MAX` characters, so many refusals take at most half of an answer. */
export const REFUSALS_MAX = 20;

/** So many that they fit beside figures, the others as a number. */
export function listed(refusals: readonly Refusal[]): {
  refusals: readonly Refusal[];
  refusals_left_off?: number;
} {
  const shown = refusals.slice(0, REFUSALS_MAX).map((one) => ({ ...one, message: forbidding(one.message) }));
  const left = refusals.length - shown.length;
  return left === 0 ? { refusals: shown } : { refusals: shown, refusals_left_off: left };
}

/** What an answer says that holds refusals alone. */
export function refusedText([first, ...others]: readonly Refusal[]): string {
  if (first === undefined) return forbidding('No figure is held.');
  const message = forbidding(first.message);
  return others.length === 0 ? message : `${message} And ${others.length} more: see \`refusals\`.`;
}

/** An answer that holds refusals alone. @param nothing the other members that every answer of the tool has */
export const refusedAnswer = (
  edition: Pick<Edition, 'id'>,
  refusals: readonly Refusal[],
  nothing: Readonly<Record<string, unknown>>,
): Answer => ({
  outcome: 'refused',
  message: refusedText(refusals),
  edition: edition.id,
  ...nothing,
  ...listed(refusals),
});

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Text that could be taken for more than one cell or line is quoted. */
const NEEDS_QUOTES = /[|\n\r]|^\s|\s$|^$/;

function cellText(value: unknown): string {
  if (typeof value === 'string') return NEEDS_QUOTES.test(value) ? JSON.stringify(value) : value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A line a record under a header of names: members that a record lacks are empty. */
function tableText(name: string, rows: readonly Record<string, unknown>[]): string {
  const columns = [...new Set(rows.flatMap((row) => presentOf(row).map(([column]) => column)))];
  const lines = rows.map((row) =>
    columns.map((column) => (row[column] === undefined ? '' : cellText(row[column]))).join('|'),
  );
  return [`${name} (${columns.join('|')}):`, ...lines].join('\n');
}

const pairsText = (record: Readonly<Record<string, unknown>>): string =>
  presentOf(record)
    .map(([member, cell]) => `${member}=${cellText(cell)}`)
    .join('; ');

const figuresText = (name: string, { same, columns, rows }: FigureTable): string =>
  [
    `${name} of ${pairsText(same)} (${columns.join('|')}):`,
    ...rows.map((row) => row.map(cellText).join('|')),
  ].join('\n');

function memberText(name: string, value: unknown): string {
  if (Array.isArray(value) && value.length > 0 && value.every(isTable))
    return value.map((table) => figuresText(name, table)).join('\n');
  if (Array.isArray(value) && value.length > 0 && value.every(isRecord)) return tableText(name, value);
  if (Array.isArray(value)) return `${name}: ${value.length === 0 ? 'none' : value.map(cellText).join(', ')}`;
  if (isRecord(value)) return `${name}: ${pairsText(value)}`;
  return `${name}: ${cellText(value)}`;
}

/** What JSON would hold. */
const presentOf = (record: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(record).filter(([, value]) => value !== undefined);

/** A text for each member. */
export const memberTexts = (members: Readonly<Record<string, unknown>>): string[] =>
  presentOf(members).map(([name, value]) => memberText(name, value));

/** Its length decides how much of an answer is sent, so each text is needed twice. */
const known = new WeakMap<object, string>();

/** The message first: it says what the rest is. */
export function answerText(answer: Readonly<{ message: string } & Record<string, unknown>>): string {
  const { message, ...members } = answer;
  const text = known.get(answer) ?? [message, ...memberTexts(members)].join('\n');
  known.set(answer, text);
  return text;
}

/**
 * How long the text and the structured content may each be: a host shows a model one of them. No two models count tokens alike, so
 * the count is conservative: a token for each digit and each mark, one for every three letters of a word, and two for each character outside ASCII.
 */
export const TOKENS_MAX = 20_000;

/** What is added after the answer is made: what it cost, and the frame of the protocol. */
const FRAME_TOKENS = 200;

const LETTERS_PER_TOKEN = 3;
const OUTSIDE_ASCII = 2;
const ASCII_MAX = 0x7f;
const [SPACE, UPPER_A, UPPER_Z, LOWER_A, LOWER_Z] = [' ', 'A', 'Z', 'a', 'z'].map((text) =>
  text.charCodeAt(0),
) as [number, number, number, number, number];

const isLetter = (code: number): boolean =>
  (code >= LOWER_A && code <= LOWER_Z) || (code >= UPPER_A && code <= UPPER_Z);

/** No common tokenizer gives more tokens for such a text. */
export function tokensAtMost(text: string): number {
  let tokens = 0;
  let letters = 0;
  let wasSpace = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isLetter(code)) {
      if (letters % LETTERS_PER_TOKEN === 0) tokens += 1;
      letters += 1;
      wasSpace = false;
      continue;
    }
    letters = 0;
    const isSpace = code <= SPACE;
    if (!(isSpace && wasSpace)) tokens += code > ASCII_MAX ? OUTSIDE_ASCII : 1;
    wasSpace = isSpace;
  }
  return tokens;
}

/** Counts only where the length alone does not say that the answer fits. */
function measure(answer: Answer): number {
  const [json, text] = [JSON.stringify(answer), answerText(answer)];
  const most = Math.max(json.length, text.length) * OUTSIDE_ASCII + FRAME_TOKENS;
  return most <= TOKENS_MAX ? most : Math.max(tokensAtMost(json), tokensAtMost(text)) + FRAME_TOKENS;
}

/** Share of the rows that is tried next, below what the last size suggests. */
const MARGIN = 0.95;

/**
 * The answer with as many rows as fit.
 * @param make the answer with its first `rows` rows. @param rows how many there are.
 */
export function fitted<Made extends Answer>(rows: number, make: (rows: number) => Made): Made {
  let answer = make(rows);
  for (let left = rows; left > 0; answer = make(left)) {
    const size = measure(answer);
    if (size <= TOKENS_MAX) return answer;
    left = Math.min(left - 1, Math.floor(((left * TOKENS_MAX) / size) * MARGIN));
  }
  return answer;
}
