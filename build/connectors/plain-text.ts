/**
 * Turns what upstream writes into the fields of a catalogue entry: names and descriptions (HTML, Markdown links, entities)
 * into plain text, names into slugs, citations into sources. The result is text, not markup: templates must escape it.
 */
import type { CatalogueEntry, NamedSource } from '../../data/schema/lake.ts';

const TAG =
  /<\/?(a|b|i|u|p|br|em|li|ol|ul|td|th|tr|div|img|sub|sup|span|code|table|strong|small|h[1-6])\b[^<>]*>/gi;
const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  euro: '€',
  pound: '£',
  deg: '°',
  times: '×',
};
const HIGHEST_CODE_POINT = 0x10ffff;

function decodeEntity(whole: string, body: string): string {
  if (!body.startsWith('#')) return ENTITIES[body.toLowerCase()] ?? whole;
  const code = /^#x/i.test(body) ? Number.parseInt(body.slice(2), 16) : Number.parseInt(body.slice(1), 10);
  return code > 0 && code <= HIGHEST_CODE_POINT ? String.fromCodePoint(code) : whole;
}

/** Removes tags, Markdown links and entities; keeps paragraphs and list items on their own lines. Empty becomes null. */
export function plainText(text: string | null | undefined): string | null {
  if (!text) return null;
  const plain = text
    .replaceAll(/<\s*(script|style)\b[^>]*>[\s\S]*?<\s*\/\s*\1\s*>/gi, ' ')
    .replaceAll(/<\s*(br|\/p|\/li|\/h[1-6]|\/div|\/tr)\b[^>]*>/gi, '\n')
    .replaceAll(TAG, '')
    .replaceAll(/\[([^\]]*)\]\([^)\s]*\)/g, '$1')
    .replaceAll(/&(#\d+|#x[0-9a-f]+|[a-z]+);/gi, decodeEntity)
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
  return plain === '' ? null : plain;
}

const MAX_SLUG_LENGTH = 120;

/** Makes a name into the second half of an indicator id: lower case, words joined by `-`, accents removed. */
export function toSlug(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/['’‘]/g, '')
    .replaceAll(/[^a-z0-9_.]+/g, '-')
    .slice(0, MAX_SLUG_LENGTH)
    .replaceAll(/^[-_.]+|[-.]+$/g, '');
  return slug === '' ? 'series' : slug;
}

/** Keeps an upstream code that is valid in an indicator id; makes any other into a slug. */
export function codeToSlug(code: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,190}$/.test(code) ? code : toSlug(code);
}

type SourceFields = Pick<CatalogueEntry, 'source' | 'source_url' | 'sources'>;

/** A longer citation is a name and notes on it. */
const NAME_LENGTH = 150;

/** Several sources, or one with more than a name; without a name or URL they count as none. */
export function sourceFields(all: readonly NamedSource[]): SourceFields {
  const sources = all.filter(({ name, url }) => name !== null || url !== null);
  const [first] = sources;
  const isPlain = sources.length < 2 && (first?.note ?? null) === null;
  return {
    source: first?.name ?? null,
    source_url: first?.url ?? null,
    ...(isPlain ? {} : { sources }),
  };
}

/** A source from a citation in prose: its first sentence is the name, the rest a note. */
export function citedSource(citation: string | null | undefined, url: string | null): NamedSource {
  const text = plainText(citation)?.replaceAll(/\s+/g, ' ') ?? null;
  if (text === null || text.length <= NAME_LENGTH) return { name: text, url, note: null };
  const [, name = text, note = ''] = /^(.{20,}?[^.]{2})\.\s+(?=\p{Lu})(.*)$/u.exec(text) ?? [];
  return { name, url, note: note || null };
}

/** Sources that upstream lists in one text, separated by semicolons; URLs of the same number belong to them in turn. */
export function listedSources(names: string | null, urls: string | null): NamedSource[] {
  const parts = (text: string | null) => (text ?? '').split(';').map((part) => plainText(part));
  const [name, url] = [parts(names), parts(urls)];
  const isPaired = url.length === name.length;
  return name.map((one, at) => ({
    name: one,
    url: isPaired ? (url[at] ?? null) : plainText(urls),
    note: null,
  }));
}
