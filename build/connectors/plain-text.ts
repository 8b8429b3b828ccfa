/**
 * Names and descriptions as upstream writes them (HTML, Markdown links, entities) as plain text, and slugs out of
 * names. The result is text, not markup: whoever shows it escapes it.
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

/** Text without tags, Markdown links and entities; paragraphs and list items keep their line. Empty becomes null. */
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

const LONGEST_SLUG = 120;

/** A name as the second half of an indicator id: lower case, words joined by `-`, accents dropped. */
export function toSlug(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/['’‘]/g, '')
    .replaceAll(/[^a-z0-9_.]+/g, '-')
    .slice(0, LONGEST_SLUG)
    .replaceAll(/^[-_.]+|[-.]+$/g, '');
  return slug === '' ? 'series' : slug;
}

/** A code as upstream writes it where it can stand in an indicator id, otherwise its slug. */
export function codeToSlug(code: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,190}$/.test(code) ? code : toSlug(code);
}
