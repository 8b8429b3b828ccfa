/** The series of the starter data, as `data/starter/manifest.csv` lists them. */
import { join } from 'node:path';
import { z } from 'zod';
import { check, Problems, readTable } from '../data/curated/table.ts';
import { INDICATOR_ID } from '../data/schema/records.ts';

const starterSeries = z
  .strictObject({
    indicator: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
    source: z.string(),
    licence: z.string(),
    origin: z.url(),
    retrieved: z.iso.date(),
  })
  .transform((series) => {
    const dot = series.indicator.indexOf('.');
    return { ...series, provider: series.indicator.slice(0, dot), slug: series.indicator.slice(dot + 1) };
  });
type StarterSeries = z.infer<typeof starterSeries>;

const COLUMNS = ['indicator', 'source', 'licence', 'origin', 'retrieved'] as const;

/** @throws {CuratedError} that lists every problem by line. */
export function readStarterManifest(): StarterSeries[] {
  const problems = new Problems();
  const series = readTable(join('data', 'starter', 'manifest.csv'), COLUMNS, [], problems).flatMap(
    ({ cells, ...at }) => check(starterSeries, cells, at, problems) ?? [],
  );
  problems.throwIfAny();
  const ids = new Set(series.map(({ indicator }) => indicator));
  if (ids.size < series.length) throw new Error('an indicator occurs twice in the starter data');
  return series;
}
