/**
 * Snapshots published, rolled back and damaged under load. Two snapshots hold the same series with different values, so
 * every response identifies its snapshot: its body must equal, byte for byte, the one that the snapshot named by
 * X-Snapshot gives without load.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import { COUNTRIES, type Manifest, manifest, manifestPath, objectPath } from '../../data/schema/snapshot.ts';
import { FIXTURE_ID, setCurrentSnapshot, writeFixture } from '../gateway/fixture-snapshot.ts';
import { ask as askGateway, createCustomers, Deployment, OTHER, storeOn, type Told } from './deployment.ts';
import type { Reporter } from './table.ts';

const POLL_MS = 20;
const SWITCH_WITHIN_MS = 10_000;
/** Time between two switches. */
const SERVED_MS = 250;
const PATHS = [
  '/v1/countries',
  '/v1/indicators',
  '/v1/meta/coverage',
  '/v1/indicators/beta.long_series',
  '/v1/countries/KEN',
  '/v1/rankings/alpha.life_expectancy',
  '/v1/data?indicator=beta.long_series',
  '/v1/data?indicator=beta.long_series&countries=KEN,USA&from=1990&format=csv',
];

/** Ways to damage a copy of a snapshot. Each returns the text of its manifest; null for none. */
const DAMAGES: Readonly<Record<string, (snapshots: string, copy: Manifest) => Promise<string | null>>> = {
  'a file with other bytes': async (snapshots, copy) => {
    const file = join(snapshots, objectPath(ABSENT));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '[]');
    return JSON.stringify({ ...copy, kept: { ...copy.kept, [COUNTRIES]: { bytes: 2, sha256: ABSENT } } });
  },
  'a file missing': async (snapshots, copy) => {
    await rm(join(snapshots, objectPath(ABSENT)), { force: true });
    return JSON.stringify({ ...copy, prerendered: { bytes: 2, sha256: ABSENT } });
  },
  'no manifest': async () => null,
  'a manifest half written': async (_, copy) => JSON.stringify(copy).slice(0, 500),
};
/** The hash of no file. */
const ABSENT = '0'.repeat(64);

interface Seen {
  answers: number;
  failed: number;
  mixed: number;
  damaged: number;
}

export async function snapshotFaults(report: Reporter, rounds: number, workers: number): Promise<void> {
  await using deployment = await Deployment.open();
  const gateway = await deployment.gateway({ SNAPSHOT_POLL_MS: String(POLL_MS) });
  const [customer] = await createCustomers(storeOn(await deployment.connect()), 1);
  const dispatcher = new Agent({ connections: workers });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => dispatcher.destroy());
  const ask = (path: string): Promise<Told> => askGateway(gateway, path, customer?.key, { dispatcher });
  const switchTo = async (id: string): Promise<void> => {
    await setCurrentSnapshot(deployment.snapshots, id);
    const deadline = performance.now() + SWITCH_WITHIN_MS;
    while ((await ask('/v1/countries')).snapshot !== id) {
      if (performance.now() > deadline) throw new Error(`the gateway does not switch to ${id}`);
      await pause(POLL_MS);
    }
  };

  await writeFixture(deployment.snapshots, OTHER);
  const atRest = new Map<string, string>();
  for (const id of [OTHER.id, FIXTURE_ID]) {
    await switchTo(id);
    for (const path of PATHS) atRest.set(`${id} ${path}`, (await ask(path)).digest);
  }
  if (new Set(atRest.values()).size !== 2 * PATHS.length)
    throw new Error('the snapshots have equal responses');

  const seen: Seen = { answers: 0, failed: 0, mixed: 0, damaged: 0 };
  let isOver = false;
  const work = async (start: number): Promise<void> => {
    for (let turn = start; !isOver; turn++) {
      const path = PATHS[turn % PATHS.length] ?? '';
      const answer = await ask(path).catch(() => null);
      seen.answers++;
      if (answer?.status !== 200) seen.failed++;
      else if (!atRest.has(`${answer.snapshot} ${path}`)) seen.damaged++;
      else if (atRest.get(`${answer.snapshot} ${path}`) !== answer.digest) seen.mixed++;
    }
  };
  const load = Promise.all(Array.from({ length: workers }, (_, index) => work(index)));
  let switches = 0;
  let offered = 0;
  for (let round = 0; round < rounds; round++) {
    // A publication, then a rollback, each followed by a damaged snapshot that must be refused.
    for (const id of [OTHER.id, FIXTURE_ID]) {
      await switchTo(id);
      switches++;
      await pause(SERVED_MS);
      await offerDamaged(deployment.snapshots, id, offered++);
      await pause(SERVED_MS);
    }
  }
  isOver = true;
  await load;
  report(
    'Snapshots published, rolled back and damaged under load: no failed request',
    `${switches} switches, ${seen.answers.toLocaleString('en')} requests, ${seen.failed} failed`,
    seen.failed === 0 && seen.answers > 0,
  );
  report(
    'Snapshots switched under load: no answer mixes two snapshots',
    `${seen.mixed} bodies that are not, byte for byte, those of the snapshot that X-Snapshot names`,
    seen.mixed === 0,
  );
  report(
    'A damaged or missing snapshot is refused, and the last good one stays in service',
    `${offered} offered (${Object.keys(DAMAGES).join(', ')}), ${seen.damaged} answers from one`,
    seen.damaged === 0,
  );
}

/** Makes a damaged copy the current snapshot. */
async function offerDamaged(snapshots: string, of: string, number: number): Promise<void> {
  const id = `20261122T${String(number).padStart(6, '0')}Z-0000000d`;
  const damages = Object.values(DAMAGES);
  const whole = manifest.parse(JSON.parse(await readFile(join(snapshots, manifestPath(of)), 'utf8')));
  const text = await damages[number % damages.length]?.(snapshots, { ...whole, id });
  if (text) await writeFile(join(snapshots, manifestPath(id)), text);
  await setCurrentSnapshot(snapshots, id);
}
