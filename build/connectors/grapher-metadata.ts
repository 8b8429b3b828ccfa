/**
 * The `.metadata.json` beside a grapher CSV: what it says, and which of its entries belongs to which CSV column.
 *
 * The CSV is headed by display names, the metadata by variable names, and they agree in a minority of charts. The rule,
 * for the data columns in file order:
 *
 * 1. a header that equals an entry's key, short name, short title or long title is that entry (case and spaces aside,
 *    and with or without the unit in brackets at the end);
 * 2. the others are matched by position, when there are as many columns as entries and every match by name stands at
 *    its own position: the export writes both in one order;
 * 3. otherwise a header belongs to the one entry, of those that no name claims, whose names contain all its words;
 * 4. a header that none of this settles goes without metadata. A wrong unit is worse than none.
 */
import { z } from 'zod';

const text = z.string().nullish();
const origin = z.looseObject({
  attribution: text,
  producer: text,
  citationFull: text,
  urlMain: text,
  license: z.looseObject({ name: text, url: text }).nullish(),
});

export const grapherColumn = z.looseObject({
  titleShort: text,
  titleLong: text,
  shortName: text,
  descriptionShort: text,
  descriptionKey: z.union([z.string(), z.array(z.string())]).nullish(),
  unit: text,
  shortUnit: text,
  lastUpdated: text,
  citationShort: text,
  citationLong: text,
  fullMetadata: text,
  origins: z.array(origin).nullish(),
  license: z.looseObject({ name: text, url: text }).nullish(),
});
export type GrapherColumn = z.infer<typeof grapherColumn>;

export const grapherMetadata = z.looseObject({
  chart: z.looseObject({ title: text, subtitle: text, citation: text, originalChartUrl: text }).prefault({}),
  columns: z.record(z.string(), grapherColumn),
});
export type GrapherMetadata = z.infer<typeof grapherMetadata>;

const normal = (name: string): string => name.trim().replaceAll(/\s+/g, ' ').toLowerCase();
const words = (name: string): string[] => name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

function withoutUnit(name: string, column: GrapherColumn): string {
  const bracket = /\s*\(([^()]*)\)$/.exec(name);
  const units = [column.unit, column.shortUnit].filter((unit) => unit).map((unit) => normal(unit ?? ''));
  const inside = normal(bracket?.[1] ?? '');
  return bracket && units.some((unit) => inside.startsWith(unit)) ? name.slice(0, bracket.index) : name;
}

function namesOf(key: string, column: GrapherColumn): string[] {
  const names = [key, column.shortName, column.titleShort, column.titleLong].filter(
    (name) => name,
  ) as string[];
  return names.flatMap((name) => [name, withoutUnit(name, column)]);
}

/** Which entry of the metadata each header belongs to, by the rule above; headers without one are absent. */
export function matchColumns(
  headers: readonly string[],
  columns: GrapherMetadata['columns'],
): Map<string, GrapherColumn> {
  const entries = Object.entries(columns).map(([key, column]) => ({ column, names: namesOf(key, column) }));
  const matched = new Map<string, GrapherColumn>();
  const taken = new Set<GrapherColumn>();
  let inOrder = headers.length === entries.length;
  const take = (header: string, column: GrapherColumn): void => {
    matched.set(header, column);
    taken.add(column);
  };
  for (const [index, header] of headers.entries()) {
    const found = entries.findIndex((entry) => entry.names.some((name) => normal(name) === normal(header)));
    const entry = entries[found];
    if (!entry) continue;
    take(header, entry.column);
    inOrder &&= found === index;
  }
  const free = entries.filter((entry) => !taken.has(entry.column));
  for (const [index, header] of headers.entries()) {
    if (matched.has(header)) continue;
    const wanted = words(header);
    const holding = free.filter((entry) => entry.names.some((name) => containsAll(words(name), wanted)));
    const entry = inOrder ? entries[index] : holding.length === 1 ? holding[0] : undefined;
    if (entry && !taken.has(entry.column)) take(header, entry.column);
  }
  return matched;
}

function containsAll(haystack: readonly string[], needles: readonly string[]): boolean {
  return needles.length > 0 && needles.every((needle) => haystack.includes(needle));
}
