/** The R client: its archive before `R CMD check`, its own tests, README and vignette, and what it shares with the others. */
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Almanac, formatLock, parseLock, verifyReceipt } from '../../clients/typescript/src/index.ts';
import { type Cell, World } from '../build/world.ts';
import { forgeries, sound } from '../data/proofs/forgeries.ts';
import { outcomeOfClient } from '../data/proofs/outcomes.ts';
import type { Evidence } from '../data/proofs/tampering.ts';
import { evidenceOfGrowth, GENUINE, GROWN } from '../data/proofs/vectors.ts';
import { forgedFrom, provedReceipts, publishProvable } from '../gateway/provable-world.ts';
import { Service, type TestKey } from '../gateway/service.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { buildStarter } from '../shared-builds.ts';
import { FRAMES, type Installed, installWheel, PACKAGE as PYTHON, run } from './python-package.ts';
import { verifyWithPackage } from './python-receipts.ts';
import { type InstalledR, installR, PACKAGE, runR, verifyWithR } from './r-package.ts';

let installed: InstalledR;
let wheel: Installed;

beforeAll(async () => {
  [installed, wheel] = await Promise.all([installR(), installWheel()]);
});
afterAll(async () => {
  for (const one of [installed?.directory, wheel && dirname(wheel.wheel)])
    if (one !== undefined) await rm(one, { recursive: true });
});

describe('the package', () => {
  it('passes R CMD check as CRAN would run it, without error, warning or note', async () => {
    // The manual needs LaTeX; whether CRAN has the name, and the time of day, are asked of other machines. qpdf would
    // compress the PDF files of the archive, which has none.
    const offline = { _R_CHECK_CRAN_INCOMING_: 'false', _R_CHECK_SYSTEM_CLOCK_: '0', R_QPDF: 'true' };
    const words = ['CMD', 'check', '--as-cran', '--no-manual', installed.archive];
    const said = await run('R', words, { ...offline, ALMANAC_KEY: '' }, installed.directory);
    expect(said).toMatch(/^Status: OK$/m);
  });
});

describe('receipts', () => {
  const verdictsOf = async (cases: [string, Evidence][]): Promise<string[]> => {
    const outcomes = await verifyWithR(
      installed,
      cases.map(([, evidence]) => evidence),
    );
    return cases.map(([name], at) => `${name}: ${outcomes[at]?.split(':')[0]}`);
  };

  it('are accepted and refused as by the verifier of the service', async () => {
    const good = GENUINE.flatMap((one) => Object.entries(sound(one)));
    expect(await verdictsOf(good)).toEqual(good.map(([name]) => `${name}: accepted`));
    const bad = GENUINE.flatMap((one) => Object.entries(forgeries(one)));
    expect(await verdictsOf(bad)).toEqual(bad.map(([name]) => `${name}: refused`));
    const grown = GROWN.flatMap((receipt) => GROWN.map((kept) => evidenceOfGrowth(receipt, kept)));
    expect(new Set(await verifyWithR(installed, grown))).toEqual(new Set(['accepted']));
  });

  it('of derived figures are recomputed, and refused where they are forged', async () => {
    const root = await mkdtemp(join(installed.directory, 'derived-'));
    await publishProvable(root);
    const service = await Service.start({ snapshots: root });
    const { key } = await service.account({ credits: 1_000_000 });
    const receipts = await provedReceipts((path) => service.get(`/v1/${path}`, { key }));
    const keys = (await service.get('/.well-known/almanac-keys.json')).text;
    await service.stop();
    const outcomesOf = (all: readonly object[]) =>
      verifyWithR(
        installed,
        all.map((receipt) => ({ receipt: JSON.stringify(receipt), keys })),
      );
    expect(await outcomesOf(receipts)).toEqual(receipts.map(() => 'accepted'));
    const refused = (await outcomesOf(receipts.flatMap(forgedFrom))).map((outcome) => outcome.split(':')[0]);
    expect([new Set(refused), refused.length > 100]).toEqual([new Set(['refused']), true]);
  });

  it('of which one character is another are refused in R, Python and TypeScript, whichever it is', async () => {
    const [{ receipt, keys } = expect.fail('no receipt')] = GENUINE;
    const text = JSON.stringify(receipt);
    // The notice is not proved, and no verifier looks at it.
    const end = text.indexOf('"notice":') + '"notice":'.length;
    const altered = Array.from({ length: end }, (_, at) => ({
      keys: JSON.stringify(keys),
      receipt: text.slice(0, at) + otherCharacter(text.charAt(at)) + text.slice(at + 1),
    }));
    const outcomes = [
      await verifyWithR(installed, altered),
      await verifyWithPackage(wheel, altered),
      await Promise.all(altered.map(outcomeOfClient)),
    ];
    for (const of of outcomes)
      expect(of.flatMap((one, at) => (one.startsWith('refused') ? [] : [altered[at]?.receipt]))).toEqual([]);
  });
});

/** Another character of the same kind where there is one, so that the text stays JSON. */
function otherCharacter(character: string): string {
  if (/\d/.test(character)) return String((Number(character) + 1) % 10);
  if (/[a-z]/i.test(character))
    return character.toLowerCase() === 'z' ? 'a' : String.fromCharCode(character.charCodeAt(0) + 1);
  return character === '_' ? '-' : '_';
}

describe('against a service', () => {
  let service: Service;
  let owner: TestKey;

  beforeAll(async () => {
    const built = await buildStarter();
    service = await Service.start({ snapshots: built.snapshots });
    owner = await service.account({ credits: 1_000_000 });
  });
  afterAll(() => service?.stop());

  const inR = (...words: string[]): Promise<string> =>
    runR(installed, words, { ALMANAC_URL: service.url, ALMANAC_KEY: owner.key });

  it('passes its tests of verbs', async () => {
    const tests = `testthat::test_dir('${PACKAGE}/tests/service', reporter = 'summary', stop_on_failure = TRUE)`;
    expect(await inR('-e', `library(almanacdata); ${tests}`)).toContain('DONE');
  });

  it('runs the examples of its manual', async () => {
    const before = await service.balance(owner);
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
    expect(await service.balance(owner)).toBeLessThan(before);
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
    const before = await service.balance(owner);
    const knitted = join(installed.directory, 'three-questions.Rmd');
    await copyFile(`${vignette}.orig`, `${knitted}.orig`);
    const knit = `knitr::opts_chunk$set(error = FALSE); knitr::knit('${knitted}.orig', '${knitted}', quiet = TRUE)`;
    await inR('-e', knit);
    expect(before - (await service.balance(owner))).toBeLessThan(150);
    expect(steady(await readFile(knitted, 'utf8'))).toBe(steady(await readFile(vignette, 'utf8')));
  });
});

/** Editions are named by the time of their publication; where the reference breaks depends on nothing else. */
const steady = (text: string): string =>
  text.replace(/\d{8}T\d{6}Z-[0-9a-f]{8}/g, 'EDITION').replace(/\bof\s+(## )?\d{4}-\d\d-\d\d/g, 'of DAY');

describe('beside the other clients', () => {
  /** Figures of which R's own parser, or a printer of 15 digits, gives another double. */
  const HARD = [
    '515156.669486150',
    '0.30000000000000004',
    '4.401981189031359e-16',
    '2.096381142078230e-6',
    '8.5e22',
  ];
  let world: World;
  let service: Service;
  let owner: TestKey;

  const cells = (values: readonly string[]): Cell[] => [
    ...values.map((value, at): Cell => ['FRA', 2000 + at, value]),
    ['DEU', 2000, '358090.935428236'],
  ];
  async function night(cows: readonly string[]): Promise<string> {
    await world.publish('atlas', {
      cows: { cells: cells(cows) },
      goats: { cells: cells(HARD.toReversed()) },
    });
    await world.ingest('atlas');
    const { snapshot } = await world.build();
    world.tomorrow();
    return snapshot;
  }

  beforeAll(async () => {
    await installPackages(FRAMES);
    world = await World.create({ atlas: { gates: { max_row_drop: 1, max_country_drop: 1 } } });
    await night(HARD);
    service = await Service.start({
      snapshots: world.settings.SNAPSHOT_DIR,
      settings: { SNAPSHOT_POLL_MS: '50' },
    });
    owner = await service.account({ credits: 1_000_000 });
  });
  afterAll(async () => {
    await service?.stop();
    await world?.remove();
  });

  it('has the same lock, the same figures to the bit, and the same revisions', async () => {
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
    const path = `${wheel.site}:${pythonPath(FRAMES)}`;
    const fromPython = JSON.parse(
      await run('python3', words, { ...settings, PYTHONPATH: path }, installed.directory),
    );
    const pinned = parseLock(written);
    const asked = [['atlas.cows', 'atlas.goats'], { countries: ['FRA', 'DEU'] }] as const;
    const now = await client.data(...asked);
    const then = await new Almanac({ key: owner.key, baseUrl: service.url, lock: pinned }).data(...asked);
    const revisions = await client.revisions(now, { since: pinned });
    const tables = [
      ['now', now],
      ['then', then],
      ['revisions', revisions],
    ] as const;
    const fromTypeScript = Object.fromEntries(tables.map(([name, { rows }]) => [name, rows]));
    expect(fromR).toMatchObject(fromTypeScript);
    expect(fromPython).toMatchObject(fromTypeScript);
    expect(then.rows.map(({ value }) => value)).toContain(Number(HARD[0]));
    expect(fromR.price).toBe(revisions.price);

    // The receipt that R keeps is read by the others, and theirs by R.
    const keys = await client.keysDocument();
    const kept = join(installed.directory, 'receipt.json');
    await runR(
      installed,
      ['-e', `almanacdata::alm_receipt('atlas.cows', 'FRA', 2000, file = '${kept}')`],
      settings,
    );
    const receipt = await readFile(kept);
    expect((await verifyReceipt(receipt, await client.keys())).row).toMatchObject({
      iso3: 'FRA',
      year: 2000,
    });
    const own = { receipt: await client.receipt('atlas.goats', 'DEU', 2000), keys };
    expect(await verifyWithR(installed, [own, { receipt, keys }])).toEqual(['accepted', 'accepted']);
    expect(await verifyWithPackage(wheel, [own, { receipt, keys }])).toEqual(['accepted', 'accepted']);
  });
});
