/** What a binary file says about itself, so that it can be kept without its headers: key-value pairs of its schema. */
import type { Table } from './table.ts';

/** Values are text; those of several parts are JSON. */
export function fileMetadata({ edition, indicators, meta }: Table): Map<string, string> {
  const credits = indicators.map(({ id, name, unit, licence, licence_url, attribution }) => ({
    ...{ id, name, unit, licence, licence_url, attribution },
  }));
  const distinct = (texts: readonly (string | null)[]): string =>
    [...new Set(texts.filter((text) => text !== null))].join('; ');
  return new Map([
    ['edition', edition],
    ['licence', distinct(credits.map(({ licence }) => licence))],
    ['licence_url', distinct(credits.map(({ licence_url }) => licence_url))],
    ['attribution', distinct(credits.map(({ attribution }) => attribution))],
    ['indicators', JSON.stringify(credits)],
    ['meta', JSON.stringify(meta)],
  ]);
}
