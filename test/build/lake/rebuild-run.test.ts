/** Runs that LAKE_KEEP removed are rebuilt from the history: rows, and the facts of each series. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { LostRunError, type Rebuilding, restoreRun } from '../../../build/lake/past-lake.ts';
import { type LakeRun, ProviderLake } from '../../../build/lake/provider-lake.ts';
import { projectionRuleOf, type SeriesFile } from '../../../build/lake/series-facts.ts';
import { type Site, smallSite } from '../../nights/sites.ts';
import { UpstreamChanges } from '../../nights/upstream-changes.ts';
import { query } from '../parquet-readers.ts';

const NIGHTS = 6;
const PROVIDERS = ['atlas', 'globe', 'survey'];

interface Held {
  rows: unknown[];
  series: SeriesFile;
}

const rowsOf = ({ observations }: LakeRun): Promise<unknown[]> =>
  query(`SELECT * FROM read_parquet('${observations}')`);

let site: Site;
/** What each run held, by provider and run. */
const held = new Map<string, Held>();
beforeAll(async () => {
  ({ site } = await smallSite());
  Object.assign(site.settings, { LAKE_KEEP: 1000 });
  const changes = new UpstreamChanges(join(site.directory, 'mirror'), 5);
  for (let night = 0; night < NIGHTS; night += 1) {
    site.clock += 86_400_000;
    await changes.revise({ files: 4, figures: 8 }, site.clock);
    for (const provider of PROVIDERS) await ingestProvider(await site.dependencies(), provider);
  }
  for (const provider of PROVIDERS) {
    const lake = lakeOf(provider);
    for (const run of await lake.history())
      held.set(`${provider} ${run.record.run_id}`, {
        rows: await rowsOf(run),
        series: await lake.series(run),
      });
    await lake.prune(1);
  }
});
afterAll(() => site.remove());

const lakeOf = (provider: string): ProviderLake => new ProviderLake(site.settings.LAKE_DIR, provider);

async function rebuilding(provider: string): Promise<Rebuilding> {
  const { curated } = await site.dependencies();
  const definition = curated.providers.get(provider);
  if (!definition) throw new RangeError(`there is no provider ${provider}`);
  const lake = lakeOf(provider);
  return {
    lake,
    history: await lake.history(),
    ruleOf: (entry) => projectionRuleOf(definition, curated.overlay(provider, entry)),
  };
}

describe('a run that LAKE_KEEP removed', () => {
  it.each(PROVIDERS)('of %s has the rows and the facts that it had', async (provider) => {
    const past = new ProviderLake(join(site.directory, 'past'), provider);
    const from = await rebuilding(provider);
    const good = from.history.filter(({ record }) => record.status === 'succeeded');
    expect(good.length).toBeGreaterThan(2);
    for (const run of good) {
      expect(await restoreRun(from, run, past.directory)).toEqual([]);
      const rebuilt = await past.run(run.record.run_id);
      const { rows, series } = held.get(`${provider} ${run.record.run_id}`) ?? {};
      expect(await rowsOf(rebuilt)).toEqual(rows);
      expect(await past.series(rebuilt)).toEqual(series);
    }
  });

  it('is refused when the chain to its first rows is broken', async () => {
    const from = await rebuilding('atlas');
    const [first, second] = from.history;
    const history = from.history.filter((run) => run !== first);
    const target = join(site.directory, 'broken', 'atlas');
    if (!second) throw new RangeError('the lake has one run only');
    await expect(restoreRun({ ...from, history }, second, target)).rejects.toThrow(LostRunError);
  });
});
