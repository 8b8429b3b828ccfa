/** What models send that is nearly right: lists as one text, and parameters by another tool's name for them. */
import { distance } from 'fastest-levenshtein';

/** Names that mean the same in different tools, and those that models make up. */
const SYNONYMS: readonly string[][] = [
  ['indicator', 'indicators', 'indicator_id', 'indicator_ids', 'id', 'ids', 'series'],
  ['country', 'countries', 'country_code', 'iso3', 'place', 'places', 'location', 'region', 'group'],
  ['year', 'years', 'from', 'to', 'start', 'end', 'start_year', 'end_year', 'date', 'since', 'until'],
  ['limit', 'latest', 'count', 'top', 'n', 'max', 'page_size'],
  ['cursor', 'page', 'offset', 'next', 'next_cursor', 'page_token'],
  ['query', 'q', 'search', 'text', 'phrase', 'keywords'],
  ['order', 'sort', 'direction', 'ascending', 'descending'],
  ['as_of', 'edition', 'version', 'vintage', 'snapshot'],
  ['topic', 'topics', 'category', 'theme'],
  ['claims', 'claim', 'figures', 'values', 'value'],
];
const TYPOS_MAX = 3;

/** @returns the parameters that may be meant by one that does not exist */
function meantBy(sent: string, known: readonly string[]): string[] {
  const name = sent.toLowerCase();
  const same = SYNONYMS.find((names) => names.includes(name)) ?? [];
  const meant = known.filter((one) => same.includes(one));
  return meant.length > 0 ? meant : known.filter((one) => distance(name, one) <= TYPOS_MAX);
}

/** What is said of a parameter that does not exist. */
export function renamed(sent: string, known: readonly string[]): string {
  const meant = meantBy(sent, known);
  return meant.length > 0
    ? `there is no such parameter: use ${meant.map((name) => `\`${name}\``).join(' and ')}`
    : `there is no such parameter: there are ${known.join(', ')}`;
}

/** A text as the list that it stands for, in JSON or not; anything else as it is. */
export function readList(sent: unknown): unknown {
  if (typeof sent !== 'string') return sent;
  const inner = /^\s*\[(.*)\]\s*$/s.exec(sent)?.[1];
  return (inner === undefined ? undefined : readJson(sent)) ?? split(inner ?? sent);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function split(text: string): string[] {
  const parts = text.split(/[;\n]/.test(text) ? /[;\n]/ : ',');
  return parts.map((part) => part.trim().replace(/^(["'])(.*)\1$/s, '$2')).filter((part) => part !== '');
}
