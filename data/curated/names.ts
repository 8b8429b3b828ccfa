/**
 * How place names are compared: spelling habits that never tell two places apart are folded away (case, accents,
 * punctuation, "&", "St.", a leading "the"), everything else must agree.
 */

/** `Côte d'Ivoire` → `cote divoire`, `Micronesia (Fed. Sts.)` → `micronesia fed sts`, `St. Lucia` → `saint lucia`. */
export function foldName(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’‘`ʻʼ]/g, '')
    .replaceAll('&', ' and ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bst\b/g, 'saint')
    .replace(/^the /, '');
}
