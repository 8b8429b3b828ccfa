/**
 * Reads `collectors.csv` and finds the collectors that a source refers to.
 *
 * - A name matches where all its words stand in the source's name or note, next to each other. Case and punctuation do not count:
 *   `EM-DAT` matches "em dat". Names of up to three letters are compared with their case: "WHO" is not "who".
 * - A URL matches by its host, subdomains included, and the beginning of its path.
 */
import { type Collector, collector } from '../schema/curated.ts';
import type { NamedSource } from '../schema/lake.ts';
import { checkedRows, type Problems, splitCell } from './table.ts';

export type Collectors = ReturnType<typeof createCollectors>;

const list = (cell: string | null): string[] => splitCell(cell).filter((part) => part !== '');

export function loadCollectors(file: string, problems: Problems): Collectors {
  const all: Collector[] = [];
  const rows = checkedRows(collector, file, problems, ({ names, urls, ...cells }) => ({
    ...cells,
    names: list(names),
    urls: list(urls),
  }));
  for (const { row, ...at } of rows) {
    if (row.names.length + row.urls.length === 0) problems.add(at, 'names or urls are needed');
    if (all.some(({ id }) => id === row.id)) problems.add(at, `${row.id} is listed twice`);
    all.push(row);
  }
  return createCollectors(all);
}

/** @param all in the order of the file */
export function createCollectors(all: readonly Collector[]) {
  const matchers = all.map((one) => ({
    one,
    names: one.names.map(nameMatcher),
    urls: one.urls.map(urlMatcher),
  }));
  return {
    all,
    /** Those that a source refers to by name or URL. */
    match({ name, note, url }: NamedSource): Collector[] {
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

const CASE_SENSITIVE_LENGTH = 3;

function nameMatcher(name: string): (words: { exact: string; folded: string }) => boolean {
  if (name.length <= CASE_SENSITIVE_LENGTH) return ({ exact }) => exact.includes(spaced(name));
  const wanted = spaced(name.toLowerCase());
  return ({ folded }) => folded.includes(wanted);
}

/** Upstream also writes URLs without a scheme: `gapm.io/dpop`. */
function parseUrl(text: string): URL | null {
  const trimmed = text.trim().toLowerCase();
  return URL.parse(/^[a-z]+:\/\//.test(trimmed) ? trimmed : `https://${trimmed}`);
}

function urlMatcher(url: string): (address: URL) => boolean {
  const slash = url.indexOf('/');
  const host = (slash < 0 ? url : url.slice(0, slash)).toLowerCase();
  const path = slash < 0 ? '/' : url.slice(slash).toLowerCase();
  return ({ hostname, pathname }) =>
    (hostname === host || hostname.endsWith(`.${host}`)) && pathname.startsWith(path);
}
