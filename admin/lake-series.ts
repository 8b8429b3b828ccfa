/** Reads from the lake which series a run wrote. Only where the lake is on this machine, and as long as LAKE_KEEP keeps the run. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** `series.json` of a run, by slug. */
const seriesFile = z.record(
  z.string(),
  z.object({
    rows: z.int(),
    /** Of the rows. */
    digest: z.string(),
  }),
);
export type RunSeries = z.infer<typeof seriesFile>;

/** Null when the lake does not have it here. @param run of a provider that the run store knows */
export async function readRunSeries(
  lakeDir: string,
  { provider, run_id }: { provider: string; run_id: string },
): Promise<RunSeries | null> {
  const text = await readFile(join(lakeDir, provider, run_id, 'series.json'), 'utf8').catch(() => null);
  return text === null ? null : (seriesFile.safeParse(JSON.parse(text)).data ?? null);
}
