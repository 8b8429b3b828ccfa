/** Reads pages of the site as their visitors would. */
const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

export const unescaped = (html: string): string =>
  html.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);

/** The text between tags, with single spaces. */
export const textOf = (html: string): string =>
  unescaped(html.replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The part of a page below a heading, by the heading's id. */
export function sectionOf(html: string, id: string): string {
  const start = html.indexOf(`aria-labelledby="${id}"`);
  return start < 0 ? '' : html.slice(html.indexOf('>', start) + 1, html.indexOf('</section>', start));
}

/** Where links lead, in their order. */
export const linksOf = (html: string): string[] =>
  [...html.matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)].map(([, href = '']) => unescaped(href));

/** The exact values that stand beside figures. */
export const valuesOf = (html: string): number[] =>
  [...html.matchAll(/<data value="([^"]+)">/g)].map(([, value]) => Number(value));

/** The rows of the first table, each as the texts of its cells. */
export const rowsOf = (html: string): string[][] =>
  [...(/<tbody>(.*?)<\/tbody>/s.exec(html)?.[1] ?? '').matchAll(/<tr\b[^>]*>(.*?)<\/tr>/gs)].map(
    ([, row = '']) =>
      [...row.matchAll(/<t[dh]\b[^>]*>(.*?)<\/t[dh]>/gs)].map(([, cell = '']) => textOf(cell)),
  );

/** The headings of the first table. */
export const columnsOf = (html: string): string[] =>
  [...(/<thead>.*?<\/thead>/s.exec(html)?.[0] ?? '').matchAll(/<th\b[^>]*>(.*?)<\/th>/gs)].map(
    ([, label = '']) => textOf(label),
  );

/** The table that is shown for a picture; empty without one. */
export const tableIn = (html: string, id: string): string =>
  new RegExp(`<table [^>]*id="${id}">.*?</table>`, 's').exec(html)?.[0] ?? '';

/** The exact values that a table by year must have: the newest year first, in each year in the order of the places. */
export function valuesByYear(
  rows: readonly { iso3: string | null; year: number; value: number | null }[],
  codes: readonly string[],
): number[] {
  const newestFirst = rows.toSorted(
    (a, b) => b.year - a.year || codes.indexOf(a.iso3 ?? '') - codes.indexOf(b.iso3 ?? ''),
  );
  return newestFirst.flatMap(({ value }) => value ?? []);
}

/** The block of structured data. */
export const structuredOf = (html: string): Record<string, unknown> =>
  JSON.parse(/<script type="application\/ld\+json">(.*?)<\/script>/s.exec(html)?.[1] ?? 'null');

/** The exact value in each table row that links to an indicator; null where none is shown. */
export const figuresIn = (html: string): { indicator: string; value: number | null }[] =>
  [...html.matchAll(/<tr>.*?<\/tr>/gs)].flatMap(([row]) => {
    const indicator = /href="\/indicators\/([^"?]+)/.exec(row)?.[1];
    const [value = null] = valuesOf(row);
    return indicator === undefined ? [] : { indicator, value };
  });

/** Ids of the indicators that a page lists, in its order. */
export const listedBy = (html: string): string[] =>
  [...html.matchAll(/<h3><a href="\/indicators\/([^"?]+)/g)].map(([, id = '']) => id);

/** Filter, value and number of each choice of a topic or a provider. */
export const choicesIn = (html: string): [name: string, value: string, count: number][] =>
  ['topic', 'provider'].flatMap((name) => {
    const select = new RegExp(`<select id="${name}".*?</select>`, 's').exec(html)?.[0] ?? '';
    return [...select.matchAll(/<option value="([a-z-]+)"[^>]*>[^<]* \(([\d,]+)\)</g)].map(
      ([, value = '', count = '']): [string, string, number] => [
        name,
        value,
        Number(count.replaceAll(',', '')),
      ],
    );
  });
