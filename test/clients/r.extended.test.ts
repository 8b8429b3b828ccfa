/** The R client: its archive before `R CMD check`, its own tests, README and vignette, and what it shares with the others. */
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Almanac, formatLock, parseLock, verifyReceipt } from '../../clients/typescript/src/index.ts';
import { type Cell, World } from '../build/world.ts';
import { useService } from '../gateway/service.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { run } from '../run-program.ts';
import { buildStarter } from '../shared-builds.ts';
import { FRAMES, installWheel, PACKAGE as PYTHON, runPython, verifyWithPackage } from './python-package.ts';
import { installR, PACKAGE, runR, verifyWithR } from './r-package.ts';
import { testDerivedReceipts, testReceipts, type Verify } from './receipt-suite.ts';

const [installed, wheel] = await Promise.all([installR(), installWheel()]);

it('the package passes R CMD check as CRAN would run it, without error, warning or note', async () => {
  // The manual needs LaTeX; whether CRAN has the name, and the time of day, are asked of other machines. qpdf would
  // compress the PDF files of the archive, which has none.
  const offline = { _R_CHECK_CRAN_INCOMING_: 'false', _R_CHECK_SYSTEM_CLOCK_: '0', R_QPDF: 'true' };
  const words = ['CMD', 'check', '--as-cran', '--no-manual', installed.archive];
  const options = { cwd: installed.directory, variables: { ...offline, ALMANAC_KEY: '' } };
  const said = await run('R', words, options);
  expect(said).toMatch(/^Status: OK$/m);
});

describe('receipts', () => {
  const verify: Verify = (all) => verifyWithR(installed, all);
  testReceipts(verify);
  testDerivedReceipts(verify);
});

const { snapshots } = await buildStarter();
const starter = await useService({ snapshots });
const buyer = await starter.account({ credits: 1_000_000 });

describe('against a service', () => {
  const inR = (...words: string[]): Promise<string> =>
    runR(installed, words, { ALMANAC_URL: starter.url, ALMANAC_KEY: buyer.key });

  it('passes its tests of verbs', async () => {
    const tests = `testthat::test_dir('${PACKAGE}/tests/service', reporter = 'summary', stop_on_failure = TRUE)`;
    expect(await inR('-e', `library(almanacdata); ${tests}`)).toContain('DONE');
  });

  it('runs the examples of its manual', async () => {
    const before = await starter.balance(buyer);
    const program = `
      library(almanacdata)
      topics <- unique(tools::Rd_db('almanacdata'))
      files <- vapply(topics, function(rd) {
        file <- tempfile(fileext = '.R')
        tools::Rd2ex(rd, file)
        file
      }, '')
      for (file in files[file.exists(files)]) source(file, local = new.env(), print.eval = TRUE)
      cat(sum(file.exists(files)), 'examples')`;
    expect(await inR('-e', program)).toMatch(/\b1\d examples$/);
    expect(await starter.balance(buyer)).toBeLessThan(before);
  });

  it('runs its README as it stands, from figures to a forged receipt', async () => {
    const printed = await inR(join(PACKAGE, 'tests/service/run_readme.R'), join(PACKAGE, 'README.md'));
    for (const expected of [
      '"world-bank.SP.DYN.TFRT.IN"',
      '270 rows, snapshot',
      'World Bank, World Development Indicators (CC BY 4.0): Fertility rate, total',
      '"rounded"',
      'max_credits_exceeded',
      '33845617',
      'The row or its path was altered',
    ])
      expect(printed).toContain(expected);
  });

  it('answers the three questions of its vignette as it is checked in', async () => {
    const vignette = join(PACKAGE, 'vignettes/three-questions.Rmd');
    const before = await starter.balance(buyer);
    const knitted = join(installed.directory, 'three-questions.Rmd');
    await copyFile(`${vignette}.orig`, `${knitted}.orig`);
    const knit = `knitr::opts_chunk$set(error = FALSE); knitr::knit('${knitted}.orig', '${knitted}', quiet = TRUE)`;
    await inR('-e', knit);
    expect(before - (await starter.balance(buyer))).toBeLessThan(150);
    expect(steady(await readFile(knitted, 'utf8'))).toBe(steady(await readFile(vignette, 'utf8')));
  });
});

/** Editions are named by the time of their publication; where the reference breaks depends on nothing else. */
const steady = (text: string): string =>
  text.replace(/\d{8}T\d{6}Z-[0-9a-f]{8}/g, 'EDITION').replace(/\bof\s+(## )?\d{4}-\d\d-\d\d/g, 'of DAY');

/** Figures of which R's own parser, or a printer of 15 digits, gives another double. */
const HARD = [
  '515156.669486150',
  '0.30000000000000004',
  '4.401981189031359e-16',
  '2.096381142078230e-6',
  '8.5e22',
];

const cells = (values: readonly string[]): Cell[] => [
  ...values.map((value, at): Cell => ['FRA', 2000 + at, value]),
  ['DEU', 2000, '358090.935428236'],
];
const night = (cows: readonly string[]): Promise<string> =>
  world.night({ cows: { cells: cells(cows) }, goats: { cells: cells(HARD.toReversed()) } });

await installPackages(FRAMES);
const world = await World.use({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } } });
await night(HARD);
const service = await useService({
  snapshots: world.settings.SNAPSHOT_DIR,
  settings: { SNAPSHOT_POLL_MS: '50' },
});
const owner = await service.account({ credits: 1_000_000 });

it('beside the other clients has the same lock, the same figures to the bit, and the same revisions', async () => {
  const settings = { ALMANAC_URL: service.url, ALMANAC_KEY: owner.key };
  const lock = join(installed.directory, 'shared.lock');
  await runR(installed, ['-e', `almanacdata::alm_lock('${lock}')`], settings);
  const written = await readFile(lock, 'utf8');
  const client = new Almanac({ key: owner.key, baseUrl: service.url });
  expect(formatLock(await client.lock())).toBe(written);
  const snapshot = await night([...HARD.slice(1), '1e23']);
  await expect.poll(() => service.snapshots.current()?.id).toBe(snapshot);

  const script = join(PACKAGE, 'tests/service/what_changed.R');
  const fromR = JSON.parse(await runR(installed, [script, lock], settings));
  const words = [join(PYTHON, 'tests/what_changed.py'), lock];
  const variables = { ...settings, PYTHONPATH: `${wheel.site}:${pythonPath(FRAMES)}` };
  const fromPython = JSON.parse(await runPython(words, { cwd: installed.directory, variables }));
  const pinned = parseLock(written);
  const asked = [['atlas.cows', 'atlas.goats'], { countries: ['FRA', 'DEU'] }] as const;
  const now = await client.data(...asked);
  const then = await new Almanac({ key: owner.key, baseUrl: service.url, lock: pinned }).data(...asked);
  const revisions = await client.revisions(now, { since: pinned });
  for (const found of [fromR, fromPython])
    expect([found.now, found.then, found.revisions]).toMatchObject([now.rows, then.rows, revisions.rows]);
  expect(then.rows.map(({ value }) => value)).toContain(Number(HARD[0]));
  expect(fromR.price).toBe(revisions.price);

  // The receipt that R keeps is read by the others, and theirs by R.
  const keys = await client.keysDocument();
  const kept = join(installed.directory, 'receipt.json');
  const keeping = `almanacdata::alm_receipt('atlas.cows', 'FRA', 2000, file = '${kept}')`;
  await runR(installed, ['-e', keeping], settings);
  const receipt = await readFile(kept);
  const { row } = await verifyReceipt(receipt, await client.keys());
  expect(row).toMatchObject({ iso3: 'FRA', year: 2000 });
  const own = { receipt: await client.receipt('atlas.goats', 'DEU', 2000), keys };
  expect(await verifyWithR(installed, [own, { receipt, keys }])).toEqual(['accepted', 'accepted']);
  expect(await verifyWithPackage(wheel, [own, { receipt, keys }])).toEqual(['accepted', 'accepted']);
});
