/** JSON that reads in one way only, and its canonical form (RFC 8785). */
import { Refused } from '../errors.ts';

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Strings (with the colon that makes one a name) and numbers of a JSON text. */
const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Lists and objects within each other. */
const MOST_LEVELS = 64;

export function demand(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Refused(sentence);
}

/** Reads UTF-8. Bytes that are not UTF-8 must not read as the replacement character, which is a text, too. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refused('This is not UTF-8.');
  }
}

/** Parses JSON. Refuses names that occur twice, numbers that a double cannot tell from another, and lone surrogates. */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused('This is not JSON.');
  }
  let names = 0;
  for (const [token, colon = null] of text.matchAll(TOKENS)) {
    if (colon !== null) names += 1;
    if (token.startsWith('"')) demand(isUnicode(token, colon ?? ''), 'A text is not valid Unicode.');
    else demand(isExact(token), `The number ${token} is not equal to its double.`);
  }
  demand(names === countNames(value), 'A name occurs twice in one object.');
  return value;
}

function isUnicode(token: string, colon: string): boolean {
  return String(JSON.parse(token.slice(0, token.length - colon.length))).isWellFormed();
}

const isExact = (token: string): boolean => decimal(token) === decimal(String(Number(token)));

/** A decimal number in one form: `-1.50e3` and `-1500` are both `-15e2`. Not a number: the text itself. */
function decimal(text: string): string {
  const [all, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (all === undefined) return text;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

function countNames(value: Json, level = 1): number {
  if (typeof value !== 'object' || value === null) return 0;
  demand(level <= MOST_LEVELS, `Lists and objects lie in each other more than ${MOST_LEVELS} deep.`);
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, member) => sum + countNames(member, level + 1), own);
}

/** Members sorted by UTF-16 code units; strings and numbers as JavaScript prints them. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

/** The members of an object: exactly those named, or those and any others. */
export function membersOf<Name extends string>(
  value: Json | undefined,
  what: string,
  names: readonly Name[],
  others?: 'and others',
): Record<Name, Json> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  demand(isObject, `${what} is not an object.`);
  const isWhole = names.every((name) => Object.hasOwn(value, name));
  const isExact = others !== undefined || Object.keys(value).length === names.length;
  demand(isWhole && isExact, `${what} has other members than ${names.join(', ')}.`);
  return value as Record<Name, Json>;
}

export function countOf(value: Json, what: string, least: number): number {
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
  demand(isCount, `${what} is not a count.`);
  return value;
}

export function textOf(value: Json, what: string): string {
  demand(typeof value === 'string', `${what} is not a text.`);
  return value;
}

/** The member `data` of an answer of the service; anything else is taken as it is. */
export function dataOf(value: Json): Json {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value.data ?? value) : value;
}
