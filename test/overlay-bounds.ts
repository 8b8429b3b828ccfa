/** The curated bounds of series, read without any code of the product: figures outside were decided to be wrong. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';

const OVERLAYS = join(import.meta.dirname, '../data/overlay');

/** Least and greatest value by slug; infinite where none is set. */
export function overlayBounds(provider: string): Map<string, [min: number, max: number]> {
  const rows: Record<string, string>[] = parse(readFileSync(join(OVERLAYS, `${provider}.csv`)), {
    columns: true,
  });
  return new Map(
    rows.map(({ slug = '', min, max }) => [slug, [Number(min || -Infinity), Number(max || Infinity)]]),
  );
}

/** Whether a figure of a series lies within its bounds. */
export function withinBounds(bounds: ReturnType<typeof overlayBounds>, slug: string) {
  const [min, max] = bounds.get(slug) ?? [-Infinity, Infinity];
  return ({ value }: { value: number | string | null }): boolean =>
    value === null || (Number(value) >= min && Number(value) <= max);
}
