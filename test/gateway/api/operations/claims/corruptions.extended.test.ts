/** 10,000 corrupted claims over the starter data in four editions. docs/claims.md has the report that this prints. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { acceptRun } from '../../../../../build/ingest/accept-run.ts';
import { nightly } from '../../../../../build/nightly.ts';
import { loadCurated } from '../../../../../data/curated/curated.ts';
import { SEED } from '../../../../environment.ts';
import { starterSite } from '../../../../nights/sites.ts';
import { UpstreamChanges } from '../../../../nights/upstream-changes.ts';
import { seededRandom } from '../../../../seeded-random.ts';
import { ROOT } from '../../../../style/repository.ts';
import { openSnapshots } from '../../../open-snapshots.ts';
import { Corruptions, revisedFigures } from './corruptions.ts';
import { judgeAll, report } from './measure.ts';
import { EditionTruth, twinsOf } from './truth.ts';
import { expectRightVerdicts } from './verdict-suite.ts';

const CLAIMS = 10_000;
const DAY_MS = 86_400_000;
const REVISIONS = { files: 60, figures: 60 };

/** Publishes what the mirror holds; accepts runs that quality gates hold, as an operator would. */
async function publish(): Promise<EditionTruth> {
  site.clock += DAY_MS;
  const { providers } = await nightly(await site.dependencies(), { all: true });
  for (const { provider, run_id: run } of providers.filter(({ outcome }) => outcome === 'suspicious'))
    await acceptRun(await site.dependencies(), provider, run ?? '');
  site.clock += DAY_MS;
  await nightly(await site.dependencies(), { providers: [] });
  return EditionTruth.read(site.settings.SNAPSHOT_DIR);
}

const { site } = await starterSite();
afterAll(() => site.remove());
const changes = new UpstreamChanges(String(site.settings.PROVIDER_MIRROR), SEED ?? 17);
const editions = [await publish()];
for (let night = 0; night < 3; night += 1) {
  await changes.revise(REVISIONS, site.clock);
  editions.push(await publish());
}
const now = editions.pop();
if (now === undefined) throw new Error('nothing is published');
const { concepts } = await loadCurated(site.settings.CURATED_DIR);
const world = { now, twins: twinsOf(concepts), revised: revisedFigures(now, editions) };
const store = await openSnapshots(site.settings.SNAPSHOT_DIR);
afterAll(() => store.close());
const corruptions = new Corruptions(world, seededRandom(SEED ?? 17));
const judged = await judgeAll(store, corruptions, corruptions.make(CLAIMS));
const text = report(judged);
process.stdout.write(text);
await mkdir(join(ROOT, 'var/test'), { recursive: true });
await writeFile(join(ROOT, 'var/test/corrupted-claims.md'), text);

expectRightVerdicts(() => judged, CLAIMS, 500);
