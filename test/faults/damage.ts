/**
 * A bit flipped in every published file right after a start, in files of the served edition and of an earlier one; at every other
 * start only in files of figures, so that all that leads to them is whole. An answer is the one that whole files give, at its
 * price, or 503 free of charge; once the files are whole again, all is as before.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OBJECTS } from '../../data/schema/snapshot.ts';
import { INDICATORS } from '../gateway/fixture-data.ts';
import { FIXTURE_ID, publishFixture } from '../gateway/fixture-snapshot.ts';
import { ask, createCustomers, Deployment, OTHER, storeOn, type Told } from './deployment.ts';
import type { Reporter } from './table.ts';

export interface DamageScale {
  /** Starts of a gateway, each with other bits flipped. */
  starts: number;
}

const FULL: DamageScale = { starts: 8 };
const LOOK_EVERY_MS = 20;
/** Only ends what hangs. */
const GIVE_UP_AFTER_MS = 60_000;

const EARLIER = `as_of=${FIXTURE_ID}`;
const PATHS = INDICATORS.filter(({ access_tier }) => access_tier !== 'display').flatMap(({ id }) => [
  ...['', '&countries=KEN,BRA&format=csv', `&${EARLIER}`].map((query) => `/v1/data?indicator=${id}${query}`),
  ...['', `?${EARLIER}`].map((query) => `/v1/files/${id}.parquet${query}`),
  ...['', `?${EARLIER}`].map((query) => `/v1/indicators/${id}${query}`),
]);

interface Seen {
  /** Files in which a bit was flipped. */
  flipped: number;
  calls: number;
  right: number;
  refused: number;
  wrong: number;
  mischarged: number;
  /** Paths that are not answered as before, once the files are whole. */
  unrepaired: number;
}

function note(seen: Seen, { status, charged }: Told, isRight: boolean, paid: number): void {
  seen.calls++;
  if (isRight) seen.right++;
  else if (status === 503) seen.refused++;
  else seen.wrong++;
  if (paid !== (isRight ? charged : 0)) seen.mischarged++;
}

export default async function damageFaults(report: Reporter, { starts }: DamageScale = FULL): Promise<void> {
  await using deployment = await Deployment.open();
  await publishFixture(deployment.snapshots, OTHER);
  const settings = { SNAPSHOT_POLL_MS: String(LOOK_EVERY_MS) };
  // Keeps the private Redis running while the gateways of the rounds come and go.
  await using first = await deployment.gateway({ ...settings, HOT_CACHE_MB: '1' });
  const store = storeOn(await deployment.connect());
  // A new one for each start: what one has a lease of costs it nothing more.
  const customers = await createCustomers(store, starts + 1);
  const other = customers.at(-1)?.key;
  const atRest = new Map<string, Told>();
  for (const path of PATHS) atRest.set(path, await ask(first, path, other));
  const isRight = (path: string, { status, digest }: Told): boolean =>
    status === 200 && digest === atRest.get(path)?.digest;

  const seen: Seen = { flipped: 0, calls: 0, right: 0, refused: 0, wrong: 0, mischarged: 0, unrepaired: 0 };
  for (const [start, { account_id, key }] of customers.slice(0, starts).entries()) {
    await using gateway = await deployment.gateway(settings);
    const whole = await flipBits(deployment.snapshots, start % 2 === 0 ? isParquet : () => true);
    seen.flipped += whole.size;
    const balance = async (): Promise<number> => (await store.get(account_id)).credits.balance;
    for (const path of PATHS) {
      const before = await balance();
      const answer = await ask(gateway, path, key);
      note(seen, answer, isRight(path, answer), before - (await balance()));
    }
    for (const [file, bytes] of whole) await writeFile(file, bytes);
    const deadline = performance.now() + GIVE_UP_AFTER_MS;
    const isServedBy = async (path: string) => {
      while (performance.now() < deadline) {
        if (isRight(path, await ask(gateway, path, other))) return true;
        await pause(LOOK_EVERY_MS);
      }
      return false;
    };
    for (const path of PATHS) if (!(await isServedBy(path))) seen.unrepaired++;
  }
  const { flipped, calls, right, refused, wrong, mischarged, unrepaired } = seen;
  report(
    'A bit flipped in every published file right after a start: no answer differs, and a call that cannot be served gets 503',
    `${starts} starts, ${flipped} files, ${calls} calls for two editions: ${right} answered as before, ${refused} refused, ${wrong} wrong`,
    wrong === 0 && refused > 0,
  );
  report(
    'A bit flipped in every published file: what is refused costs nothing',
    `${mischarged} of ${calls} calls cost something other than their answer says, or something without one`,
    mischarged === 0,
  );
  report(
    'Damaged files that are whole again are served again',
    `${starts} times, ${unrepaired} of ${calls} answers differ afterwards`,
    unrepaired === 0,
  );
}

const isParquet = (bytes: Buffer): boolean => bytes.toString('latin1', 0, 4) === 'PAR1';

/** Flips one bit in each of some files, anywhere. @returns the whole files */
async function flipBits(
  snapshots: string,
  isChosen: (bytes: Buffer) => boolean,
): Promise<Map<string, Buffer>> {
  const entries = await readdir(join(snapshots, OBJECTS), { recursive: true, withFileTypes: true });
  const whole = new Map<string, Buffer>();
  for (const entry of entries.filter((one) => one.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const bytes = await readFile(file);
    if (bytes.length === 0 || !isChosen(bytes)) continue;
    whole.set(file, bytes);
    const flipped = Buffer.from(bytes);
    const at = Math.floor(Math.random() * bytes.length);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << Math.floor(Math.random() * 8));
    await writeFile(file, flipped);
  }
  return whole;
}
