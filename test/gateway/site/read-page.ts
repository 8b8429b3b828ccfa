/** Reads figures out of the pages of the site, by their markup alone. */

const ROW = /<tr>.*?<\/tr>/gs;
const INDICATOR = /href="\/indicators\/([^"?]+)/;
const EXACT = /<data value="([^"]+)">/;

/** The exact value in each table row that links to an indicator; null where none is shown. */
export function figuresIn(html: string): { indicator: string; value: number | null }[] {
  return [...html.matchAll(ROW)].flatMap(([row]) => {
    const indicator = INDICATOR.exec(row)?.[1];
    if (indicator === undefined) return [];
    const value = EXACT.exec(row)?.[1];
    return { indicator, value: value === undefined ? null : Number(value) };
  });
}
