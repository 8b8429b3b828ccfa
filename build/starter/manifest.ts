/**
 * The manifest of the starter data, `data/starter/manifest.csv`: which series it holds, who collected each, under which
 * licence, from where and when its file was retrieved. People choose the series there; `write-starter.ts` copies them.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { Problems } from '../../data/curated/problems.ts';
import { check, readTable } from '../../data/curated/table.ts';
import { INDICATOR_ID } from '../../data/schema/records.ts';

const starterSeries = z
  .strictObject({
    indicator: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
    /** Who collected or modelled the figures. */
    source: z.string(),
    licence: z.string(),
    /** The page or repository that the file comes from. */
    origin: z.url(),
    /** The day of that edition or download. */
    retrieved: z.iso.date(),
  })
  .transform((series) => {
    const dot = series.indicator.indexOf('.');
    return { ...series, provider: series.indicator.slice(0, dot), slug: series.indicator.slice(dot + 1) };
  });
export type StarterSeries = z.infer<typeof starterSeries>;

const COLUMNS = ['indicator', 'source', 'licence', 'origin', 'retrieved'] as const;

export const starterDirectory = (curatedDir: string): string => join(curatedDir, 'starter');

/** @throws {CuratedError} that lists every problem by line. */
export async function readManifest(curatedDir: string): Promise<StarterSeries[]> {
  const problems = new Problems();
  const file = join(starterDirectory(curatedDir), 'manifest.csv');
  const series: StarterSeries[] = [];
  for (const { cells, ...at } of readTable(file, COLUMNS, [], problems)) {
    const one = check(starterSeries, cells, at, problems);
    if (one === undefined) continue;
    if (series.some(({ indicator }) => indicator === one.indicator))
      problems.add(at, `${one.indicator} occurs twice`);
    series.push(one);
  }
  problems.throwIfAny();
  return series;
}
