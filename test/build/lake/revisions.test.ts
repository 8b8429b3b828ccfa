/** The history of figures: what each run changed, kept for ever, enough to rebuild every run. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ProviderLake, REVISIONS } from '../../../build/lake/provider-lake.ts';
import { expectHistories } from './history-property.ts';
import { figure, type LakeRow, type Rows, replay, ScriptedProvider, sorted } from './scripted-provider.ts';

let provider: ScriptedProvider;
beforeEach(async () => {
  provider = await ScriptedProvider.create();
});
afterEach(() => provider.world.remove());

const rowsOf = (rows: Record<string, LakeRow>): Rows => new Map(Object.entries(rows));
/** Enough equal rows that a change of a few holds no run. */
const REST = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => [`one USA ${1990 + index}`, figure(5)]),
);

describe('the history of a provider', () => {
  it('rebuilds exactly the rows of every run, in whatever order runs change, hold, accept and repeat', async () => {
    await expectHistories(4);
  }, 60_000);

  const nights = async (count: number): Promise<Map<string, Rows>> => {
    const published = new Map<string, Rows>();
    for (let night = 0; night < count; night += 1) {
      const rows = rowsOf({ ...REST, 'one DEU 2000': figure(night), [`one FRA ${1990 + night}`]: figure(1) });
      published.set((await provider.night(rows)).run_id, rows);
    }
    return published;
  };
  const expectWhole = async (lake: ProviderLake, published: Map<string, Rows>): Promise<void> => {
    const replayed = await replay(lake);
    expect([...replayed.keys()]).toEqual([...published.keys()]);
    for (const [id, rows] of published) expect(sorted(replayed.get(id))).toEqual(sorted(rows));
  };

  it('outlives LAKE_KEEP in small files: all rows of the first run, of the others what changed', async () => {
    const published = await nights(6);
    await expectWhole(provider.lake, published);
    const history = join(provider.lake.directory, 'history');
    const [first = '', second = '', third = ''] = published.keys();
    expect(await readdir(history)).toEqual([first, second, third]);
    expect((await readdir(join(history, first))).sort()).toEqual([
      'observations.parquet',
      'run.json',
      'sources.parquet',
    ]);
    for (const id of [second, third])
      expect((await readdir(join(history, id))).sort()).toEqual([
        'revisions.parquet',
        'run.json',
        'sources.parquet',
      ]);
  });

  it('survives a crash while LAKE_KEEP removes a run', async () => {
    const published = await nights(5);
    const { directory } = provider.lake;
    const [first = '', second = '', third = ''] = published.keys();
    // The three stages: half a draft, kept but not removed, half removed.
    await mkdir(join(directory, 'history', `.draft-${third}`), { recursive: true });
    await writeFile(join(directory, 'history', `.draft-${third}`, 'run.json'), '{');
    await mkdir(join(directory, second));
    await writeFile(
      join(directory, second, 'run.json'),
      await readFile(join(directory, 'history', second, 'run.json')),
    );
    await mkdir(join(directory, `.scratch-${first}`));
    await provider.ingest();
    provider.world.tomorrow();
    const rows = rowsOf({ ...REST, 'one DEU 2000': figure(99) });
    published.set((await provider.night(rows)).run_id, rows);
    await expectWhole(provider.lake, published);
    const names = await readdir(directory);
    expect(names.filter((name) => name.startsWith('.') || name === second)).toEqual([]);
    expect((await readdir(join(directory, 'history'))).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('shows nothing of a run that fails while it is written', async () => {
    const published = await nights(2);
    const { id, directory } = await provider.lake.begin(provider.world.clock);
    await writeFile(join(directory, REVISIONS), 'half');
    expect((await provider.lake.history()).map(({ record }) => record.run_id)).not.toContain(id);
    await expectWhole(provider.lake, published);
  });
});
