/**
 * `almanac.lock`: a notebook gives the same bytes after a night that revises figures, and can tell what changed; in Python
 * and in TypeScript, which read each other's lock.
 */
import { copyFile, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  Almanac,
  formatLock,
  type Lock,
  LockError,
  type Observation,
  parseLock,
  type Revision,
  verifyReceipt,
} from '../../clients/typescript/src/index.ts';
import { CURRENT_POINTER } from '../../data/schema/snapshot.ts';
import { stopAfterTests, useDirectory } from '../after-tests.ts';
import { World } from '../build/world.ts';
import { herd } from '../gateway/edition-story.ts';
import { Program } from '../gateway/program.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { FRAMES, installWheel, PACKAGE, runPython } from './python-package.ts';

await installPackages(FRAMES);
const installed = await installWheel();
const folder = await useDirectory();
const lock = join(folder, 'almanac.lock');
const world = await World.use({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } } });
await world.night({ cows: herd(51, 52, 53), goats: herd(54, 55) });
const program = await stopAfterTests(Program.prepare());
const { SNAPSHOT_DIR } = world.settings;
const { url, startupBanner } = await program.start({ SNAPSHOT_DIR, SNAPSHOT_POLL_MS: '50' });
/** The demo key. */
const [key = ''] = /alm_live_\w+/.exec(startupBanner) ?? [];

/** Runs a program of the Python client. */
function python(...words: string[]): Promise<string> {
  const path = { PYTHONPATH: `${installed.site}:${pythonPath(FRAMES)}` };
  return runPython(words, { cwd: folder, variables: { ...path, ALMANAC_URL: url, ALMANAC_KEY: key } });
}
const lockInPython = (...words: string[]) => python('-m', 'almanac_data.cli.main', ...words);

const notebook = async (name: string, ...given: string[]): Promise<string> => {
  const output = join(folder, name);
  await python(join(PACKAGE, 'tests/notebook.py'), output, ...given);
  return readFile(output, 'utf8');
};

const typescript = (given?: Lock): Almanac => new Almanac({ key, baseUrl: url, lock: given });
const [COWS, GOATS] = ['atlas.cows', 'atlas.goats'];
const ASKED = { countries: ['FRA', 'DEU'] };

/** Asks for figures in several ways. @returns every byte of what it gets */
async function script(given?: Lock): Promise<string> {
  const client = typescript(given);
  const receipt = await client.receipt(COWS, 'FRA', 2000);
  const pages = [
    await client.data([COWS, GOATS], ASKED),
    await client.data([COWS, GOATS], { layout: 'wide', years: '2000-2002' }),
    await client.data(COWS, { latest: 1, fields: ['name', 'year', 'value'] }),
    await client.rank(COWS, { year: 2000 }),
    await client.country('FRA'),
    await client.indicator(COWS),
    await client.indicators(),
    Buffer.from(await (await client.file(COWS)).bytes()).toString('base64'),
    (await verifyReceipt(receipt, await client.keys())).row,
  ];
  return JSON.stringify(pages);
}

async function untilServed(snapshot: string): Promise<void> {
  const served = async () => (await fetch(`${url}/v1/editions`)).headers.get('x-snapshot');
  await expect.poll(served).toBe(snapshot);
}

const place = ({ indicator, iso3, year }: Observation | Revision): string => `${indicator} ${iso3} ${year}`;
const known = (rows: readonly Observation[]): Map<string, number> =>
  new Map(rows.flatMap((row) => (row.value === null ? [] : [[place(row), row.value] as const])));

it('gives the same bytes after nights that revise figures, and lists exactly what they changed', async () => {
  await lockInPython('lock', lock);
  const pinned = parseLock(await readFile(lock, 'utf8'));
  expect(formatLock(await typescript().lock())).toBe(await readFile(lock, 'utf8'));
  const other = join(folder, 'typescript.lock');
  await writeFile(other, formatLock(pinned));
  const [first, firstScript] = [await notebook('first', other), await script(pinned)];
  await world.night({ cows: herd(51, 52.5, 53), goats: herd(54, 55, 56), lamas: herd(57) });
  await untilServed(await world.night({ cows: herd(51, 52.25, 53, 58), goats: herd(54), lamas: herd(57) }));

  expect(await notebook('again', lock)).toBe(first);
  expect(await lockInPython('lock', lock, '--check')).toContain('holds');
  expect(await notebook('unlocked')).not.toBe(first);
  expect(await script(pinned)).toBe(firstScript);
  expect(await script()).not.toBe(firstScript);

  const found = JSON.parse(await python(join(PACKAGE, 'tests/what_changed.py'), lock));
  const [then, now]: [Observation[], Observation[]] = [found.then, found.now];
  const revisions: Revision[] = found.revisions;
  expect(revisions.map((one) => [place(one), one.kind, one.old_value, one.new_value])).toEqual(
    [
      ['atlas.cows FRA 2001', 'changed', 52, 52.5],
      ['atlas.cows FRA 2001', 'changed', 52.5, 52.25],
      ['atlas.cows FRA 2003', 'added', null, 58],
      ['atlas.goats FRA 2001', 'withdrawn', 55, null],
      ['atlas.goats FRA 2002', 'added', null, 56],
      ['atlas.goats FRA 2002', 'withdrawn', 56, null],
    ].toSorted(),
  );
  expect([found.price, found.pandas]).toEqual([revisions.length, revisions.length]);
  // Carried out on the figures under the lock, they give those without it.
  const figures = known(then);
  for (const revision of revisions) {
    if (revision.new_value === null) figures.delete(place(revision));
    else figures.set(place(revision), revision.new_value);
  }
  expect(figures).toEqual(known(now));
  expect(found.changes.map(({ added }: { added: string[] }) => added)).toEqual([[], ['atlas.lamas']]);

  // A search answers from the newest edition.
  const { hits } = await typescript(pinned).search('herd');
  expect(hits.map(({ id }) => id)).toContain('atlas.lamas');
  const client = typescript();
  const listed = await client.revisions(await client.data([COWS, GOATS], ASKED), { since: pinned });
  expect([listed.rows, listed.price]).toEqual([revisions, revisions.length]);
  expect(await client.changes({ since: pinned })).toEqual(found.changes);
});

it('refuses a service whose history is another one', async () => {
  const other = join(await mkdtemp(join(folder, 'other-')), 'almanac.lock');
  await copyFile(lock, other);
  await using forked = await World.create({ atlas: {} });
  const snapshot = await forked.night({ cows: herd(51, 52, 53), goats: herd(54, 55) });
  expect(await readFile(join(SNAPSHOT_DIR, CURRENT_POINTER), 'utf8')).not.toContain(snapshot);
  const gateway = await program.start({ SNAPSHOT_DIR: forked.settings.SNAPSHOT_DIR });
  const refusal = /has no edition|has the root|no longer publishes the key/;
  await expect(lockInPython('--url', gateway.url, 'lock', other, '--check')).rejects.toThrow(refusal);
  const pinned = parseLock(await readFile(lock, 'utf8'));
  const strange = new Almanac({ key, baseUrl: gateway.url, lock: pinned });
  const error = await strange.data(COWS).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(LockError);
  expect(String(error)).toMatch(refusal);
});
