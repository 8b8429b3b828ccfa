/**
 * Turns upstream names and descriptions (HTML, Markdown links, entities) into plain text, and names into slugs. The
 * result is text, not markup: templates must escape it.
 */
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
