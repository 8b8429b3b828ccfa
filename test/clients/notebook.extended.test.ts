/**
 * The notebook of docs/notebooks, executed by a real kernel against the starter data: it gives the outputs that are checked
 * in; with its lock, the same bytes after a night that revises figures, and the list of what the night changed; without the
 * lock, the revised figures.
 */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { useService } from '../gateway/service.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { run } from '../run-program.ts';
import { buildStarter } from '../shared-builds.ts';
import { FRAMES, installWheel, PACKAGE, runPython } from './python-package.ts';

const ROOT = join(import.meta.dirname, '../..');
const NOTEBOOK = join(ROOT, 'docs/notebooks/three-questions.ipynb');
const EXECUTE = join(PACKAGE, 'tests/execute_notebook.py');
const JUPYTER = ['nbclient==0.11.0', 'ipykernel==7.4.0'];
/** The file that the night revises, as upstream names it, and its new figures. */
const UPSTREAM = 'ddf--datapoints--hdi--by--country--year.csv.gz';
const REVISED = { chile: '0.8561', peru: '0.7655' };
/** The cell that tells what has changed; all others have to stay. */
const CHANGES = 'changes';

interface Cell {
  id: string;
  cell_type: string;
  source: string[];
  outputs?: { output_type: string; text?: string[] }[];
}

const [built] = await Promise.all([buildStarter(), installPackages(FRAMES), installPackages(JUPYTER)]);
const installed = await installWheel();
/** VAR_DIR of the nights. */
const home = await useDirectory();
for (const name of ['lake', 'snapshots', 'signing'])
  await cp(join(built.directory, name), join(home, name), { recursive: true });
const service = await useService({
  snapshots: join(home, 'snapshots'),
  settings: { SNAPSHOT_POLL_MS: '50' },
});
const owner = await service.account({ credits: 10_000 });

const cellsOf = async (file: string): Promise<Cell[]> => JSON.parse(await readFile(file, 'utf8')).cells;

/** Executes the notebook in a folder of its own, where its lock lies. */
async function execute(name: string): Promise<Cell[]> {
  const folder = join(home, name);
  await mkdir(folder, { recursive: true });
  const output = join(folder, 'executed.ipynb');
  const variables = {
    PYTHONPATH: [installed.site, pythonPath(FRAMES), pythonPath(JUPYTER)].join(':'),
    JUPYTER_PATH: join(pythonPath(JUPYTER), 'share/jupyter'),
    JUPYTER_RUNTIME_DIR: join(home, 'runtime'),
    IPYTHONDIR: join(home, 'ipython'),
    ALMANAC_URL: service.url,
    ALMANAC_KEY: owner.key,
  };
  await runPython([EXECUTE, NOTEBOOK, output], { variables });
  return cellsOf(output);
}

/** Publishes the starter data of a provider with other figures, as its next night. */
async function reviseOneNight(): Promise<void> {
  const mirror = join(home, 'mirror/undp-hdi');
  await cp(join(ROOT, 'data/starter/undp'), mirror, { recursive: true });
  let text = gunzipSync(await readFile(join(mirror, UPSTREAM))).toString();
  for (const [country, value] of Object.entries(REVISED))
    text = text.replace(new RegExp(`^${country},2021,.*$`, 'm'), `${country},2021,${value}`);
  await writeFile(join(mirror, UPSTREAM), gzipSync(text));
  const before = service.snapshots.current()?.id;
  const variables = { PROVIDER_MIRROR: dirname(mirror), VAR_DIR: home, LOG_LEVEL: 'error' };
  const words = [join(ROOT, 'build/main.ts'), 'nightly', '--provider', 'undp'];
  await run(process.execPath, words, { cwd: ROOT, variables });
  await expect.poll(() => service.snapshots.current()?.id).not.toBe(before);
}

/** Editions are named by the time of their publication. */
const steady = (cells: Cell[]): string =>
  JSON.stringify(cells)
    .replace(/\d{8}T\d{6}Z-[0-9a-f]{8}/g, 'EDITION')
    .replace(/EDITION of \d{4}-\d\d-\d\d/g, 'EDITION of DAY');

const others = (cells: Cell[]): Cell[] => cells.filter(({ id }) => id !== CHANGES);
const printed = (cells: Cell[], id: string): string[] =>
  cells
    .find((cell) => cell.id === id)
    ?.outputs?.flatMap(({ text = [] }) => text.map((line) => line.trim())) ?? [];

it('answers three questions, the same again with its lock, and says what a night has changed', async () => {
  const before = await service.balance(owner);
  const first = await execute('locked');
  expect(before - (await service.balance(owner))).toBeLessThan(100);
  expect(steady(first)).toBe(steady(await cellsOf(NOTEBOOK)));
  expect(printed(first, 'claim')).toEqual(['rounded 33,845,617 people']);
  expect(printed(first, CHANGES).at(-1)).toMatch(/^0 figures/);

  await reviseOneNight();
  const again = await execute('locked');
  expect(JSON.stringify(others(again))).toBe(JSON.stringify(others(first)));
  expect(printed(again, CHANGES)).toEqual([
    'CHL 2021: changed from 0.855 to 0.8561',
    'PER 2021: changed from 0.762 to 0.7655',
    '2 figures of the first question have changed since the lock.',
  ]);

  const unlocked = await execute('unlocked');
  const known = new Set(others(first).map((cell) => steady([cell])));
  const changed = others(unlocked).filter((cell) => !known.has(steady([cell])));
  expect(changed.map(({ id }) => id)).toEqual(['development']);
  expect(printed(unlocked, CHANGES).at(-1)).toMatch(/^0 figures/);
});
