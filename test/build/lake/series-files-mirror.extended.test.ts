/**
 * The upstream files that the lake names for each series, on whole providers, are the bytes of the mirror. That a changed
 * figure changes only series that name its file is held for each connector in `connectors/series-files.test.ts`.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ProviderLake } from '../../../build/lake/provider-lake.ts';
import { readSources } from '../../../build/lake/sources.ts';
import { resolveSource } from '../../../build/upstream/open-upstream.ts';
import { type Curated, loadCurated } from '../../../data/curated/curated.ts';
import { describeWithMirror } from '../../mirror.ts';
import { buildMirror, type SharedBuild } from '../../shared-builds.ts';

const PROVIDERS = ['gapminder', 'imf', 'owid', 'owid-datasets', 'undp', 'unicef', 'who-gho', 'world-bank'];

describeWithMirror('the upstream files of each series', (mirror) => {
  let scratch: string;
  let built: SharedBuild;
  let curated: Curated;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'almanac-files-'));
    curated = await loadCurated('data');
    built = await buildMirror(mirror);
  });
  afterAll(() => rm(scratch, { recursive: true, force: true }));

  it.each(PROVIDERS)('%s: every series names files of the mirror by their hashes', async (id) => {
    const definition = curated.providers.get(id);
    const lake = new ProviderLake(built.lake, id);
    const run = await lake.current();
    if (!definition || !run) throw new Error(`${id} has no run`);
    const { base } = resolveSource(definition, { PROVIDER_MIRROR: mirror });
    const [files = []] = await readSources([run], scratch);
    const fed = new Set(files.flatMap(({ series }) => series ?? []));
    const unfed = Object.entries(await lake.series(run)).filter(
      ([slug, { rows }]) => !fed.has(slug) && rows > 0,
    );
    expect(unfed.map(([slug]) => slug)).toEqual([]);
    for (const { reference, ...file } of files) {
      const path = decodeURIComponent(reference.replace(/\?.*$/, ''));
      const bytes = await readFile(join(base.kind === 'directory' ? base.path : '', path));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect([file.carried, file.bytes, file.sha256], reference).toEqual([false, bytes.length, sha256]);
    }
  });
});
