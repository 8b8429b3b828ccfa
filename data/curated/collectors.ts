/**
 * Reads `collectors.csv` and finds the collectors that a source refers to.
 *
 * - A name matches where all its words stand in the source's name or note, next to each other. Case and punctuation do not count:
 *   `EM-DAT` matches "em dat". Names of up to three letters are compared with their case: "WHO" is not "who".
 * - A URL matches by its host, subdomains included, and the beginning of its path.
 */
import { type Collector, collector } from '../schema/curated.ts';
import type { NamedSource } from '../schema/lake.ts';
import { check, type Problems, readTable } from './table.ts';

export interface Collectors {
  /** In the order of the file. */
  readonly all: readonly Collector[];
  /** Those that a source refers to by name or URL. */
  match(source: NamedSource): Collector[];
}

const COLUMNS = [
  ...(['id', 'name', 'names', 'urls', 'licence', 'licence_url'] as const),
  ...(['redistributable', 'looked_up', 'reason'] as const),
];

export async function loadCollectors(file: string, problems: Problems): Promise<Collectors> {
  const all: Collector[] = [];
  for (const { cells, ...at } of readTable(file, COLUMNS, [], problems)) {
    const row = check(
      collector,
      { ...cells, names: list(cells.names), urls: list(cells.urls) },
      at,
      problems,
    );
    if (row === undefined) continue;
    if (row.names.length + row.urls.length === 0) problems.add(at, 'names or urls are needed');
    if (all.some(({ id }) => id === row.id)) problems.add(at, `${row.id} is listed twice`);
    all.push(row);
  }
  return createCollectors(all);
}

const list = (cell: string | null): string[] =>
  (cell ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');

export function createCollectors(all: readonly Collector[]): Collectors {
  const matchers = all.map((one) => ({
    one,
    names: one.names.map(nameMatcher),
    urls: one.urls.map(urlMatcher),
  }));
  return {
    all,
    match({ name, note, url }) {
      const texts = [name, note].filter((text) => text !== null);
      const words = texts.map((text) => ({ exact: spaced(text), folded: spaced(text.toLowerCase()) }));
      const address = url === null ? null : parseUrl(url);
      return matchers
        .filter(
          ({ names, urls }) =>
            names.some((matches) => words.some(matches)) ||
            (address !== null && urls.some((matches) => matches(address))),
        )
        .map(({ one }) => one);
    },
  };
}

/** The words of a text, each between two blanks. */
const spaced = (text: string): string => ` ${text.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim()} `;

interface Words {
  exact: string;
  folded: string;
}

const CASE_SENSITIVE_LENGTH = 3;

function nameMatcher(name: string): (words: Words) => boolean {
  if (name.length <= CASE_SENSITIVE_LENGTH) return ({ exact }) => exact.includes(spaced(name));
  const wanted = spaced(name.toLowerCase());
  return ({ folded }) => folded.includes(wanted);
}

interface Address {
  host: string;
  path: string;
}

/** Upstream also writes URLs without a scheme: `gapm.io/dpop`. */
function parseUrl(text: string): Address | null {
  const trimmed = text.trim().toLowerCase();
  const parsed = URL.parse(/^[a-z]+:\/\//.test(trimmed) ? trimmed : `https://${trimmed}`);
  return parsed && { host: parsed.hostname, path: parsed.pathname };
}

function urlMatcher(url: string): (address: Address) => boolean {
  const slash = url.indexOf('/');
  const host = (slash < 0 ? url : url.slice(0, slash)).toLowerCase();
  const path = slash < 0 ? '/' : url.slice(slash).toLowerCase();
  return (address) =>
    (address.host === host || address.host.endsWith(`.${host}`)) && address.path.startsWith(path);
}
