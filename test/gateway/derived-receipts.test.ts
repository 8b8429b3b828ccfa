/** Receipts of derived figures: each is the figure of `/v1/data`, verified and recomputed offline, and nothing else passes. */
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DerivationReceipt } from '../../data/proofs/receipt.ts';
import { verifyDerivation } from '../../data/proofs/verify-derivation.ts';
import { parseKeys, Refused } from '../../data/proofs/verify-receipt.ts';
import { useDirectory } from '../after-tests.ts';
import { importsOf } from '../style/repository.ts';
import { GROUPS, linear, OUTPUT, PEOPLE, relative } from './derived-world.ts';
import {
  type Asked,
  EARLIER,
  FORGERIES,
  firstProved,
  OLDEST,
  provedReceipts,
  publishProvable,
  RATE,
  receiptFor,
  served,
  withOtherGroups,
  withoutRows,
} from './provable-world.ts';
import { codeOf, useService } from './service.ts';

const root = await useDirectory();
await publishProvable(root);
const service = await useService({ snapshots: root });
const { key } = await service.account({ credits: 10_000_000 });
const ask = (path: string) => service.get(`/v1/${path}`, { key });
const keys = parseKeys((await service.get('/.well-known/almanac-keys.json')).text);

/** The receipt proves what `/v1/data` serves, at a credit a row; without a figure there is none. */
async function checkProof(asked: Asked): Promise<boolean> {
  const [figure, answer] = [await served(ask, asked), await receiptFor(ask, asked)];
  if ((figure?.value ?? null) === null) {
    expect([answer.status, codeOf(answer)]).toEqual([404, 'figure_not_found']);
    return false;
  }
  expect(answer.status, answer.text).toBe(200);
  const verified = verifyDerivation(answer.text, keys);
  expect(verified.figure).toMatchObject(figure);
  const receipt: DerivationReceipt = answer.json.data;
  const rows = receipt.series.reduce((sum, { given }) => sum + given.length, 0);
  expect(answer.headers['x-credits-charged']).toBe(String(rows));
  expect(receipt.notices.map(({ indicator }) => indicator).sort()).toEqual(
    receipt.series.map(({ descriptor }) => descriptor.indicator),
  );
  return true;
}

const countries = fc.constantFrom('AFG', 'ALB', 'CIV', 'DEU', 'KEN', 'USA', 'XKX', 'ZWE');
const yearOf = fc.integer({ min: 2000, max: 2015 });
const group = fc.constantFrom(...Object.keys(GROUPS));
const chains = fc.oneof(
  fc.tuple(
    fc.constant(OUTPUT),
    fc.oneof(linear, relative).map((word) => [word]),
  ),
  fc.tuple(
    fc.constantFrom(OUTPUT, 'alpha.deaths'),
    linear.map((word) => ['per_head', word]),
  ),
  fc.tuple(
    fc.constant(OUTPUT),
    relative.map((word) => [`per:${PEOPLE}`, word]),
  ),
  fc.tuple(
    fc.constantFrom(OUTPUT, PEOPLE),
    fc.tuple(group, linear).map(([id, word]) => [`share:${id}`, word]),
  ),
  fc.tuple(
    fc.constantFrom(OUTPUT, 'alpha.deaths'),
    group.map((id) => ['mean:2', `share:${id}`]),
  ),
  fc.tuple(
    fc.constant(RATE),
    linear.map((word) => [word]),
  ),
);

describe('the receipt of a derived figure', () => {
  test('proves what is served of a country, under any chain of transforms', async () => {
    let proved = 0;
    const property = fc.asyncProperty(chains, countries, yearOf, async ([id, words], place, year) => {
      const isProved = await checkProof({ id, place, year, words });
      proved += isProved ? 1 : 0;
    });
    await fc.assert(property, { numRuns: 120, seed: 37 });
    expect(proved).toBeGreaterThan(20);
  });

  test('proves what is served of a group, with and without a transform', async () => {
    let proved = 0;
    const words = fc.oneof(
      fc.constant([]),
      fc.oneof(linear, relative).map((word) => [word]),
    );
    const ids = fc.constantFrom(OUTPUT, PEOPLE, 'alpha.deaths', RATE);
    const property = fc.asyncProperty(ids, group, yearOf, words, async (id, of, year, chain) => {
      const isFit = id !== RATE || chain.every((word) => !/growth|index/.test(word));
      const isProved = await checkProof({ id, place: `@${of}`, year, words: isFit ? chain : [] });
      proved += isProved ? 1 : 0;
    });
    await fc.assert(property, { numRuns: 80, seed: 37 });
    expect(proved).toBeGreaterThan(20);
  });

  test('follows the rules of the edition that is asked for', async () => {
    const asked = await firstProved(ask, { id: OUTPUT, place: 'CIV', words: ['growth:1'] });
    expect(await checkProof({ ...asked, asOf: EARLIER })).toBe(true);
    const head = await firstProved(ask, { ...asked, words: ['per_head'] });
    const [now, then] = [head, { ...head, asOf: EARLIER }].map((one) => receiptFor(ask, one));
    const values = [(await now)?.json.data.figure.value, (await then)?.json.data.figure.value];
    expect(values[0] / values[1]).toBeCloseTo(1000, 6);
    const oldest = await receiptFor(ask, { ...asked, asOf: OLDEST });
    expect([oldest.status, codeOf(oldest)]).toEqual([404, 'not_in_edition']);
  });

  test('is refused without charge where it may not be, or makes no sense', async () => {
    const before = (await ask('ping')).json.data.credits;
    const codes = await Promise.all([
      ask(`receipts?indicator=gamma.shown&country=KEN&year=2005&transform=change`),
      ask(`receipts?indicator=gamma.open&country=KEN&year=2005&transform=per_head`),
      ask(`receipts?indicator=${RATE}&country=KEN&year=2005&transform=per_head`),
      ask(`receipts?indicator=${OUTPUT}&country=@eu&year=2005`),
      ask(`receipts?indicator=${OUTPUT}&country=KEN&year=2005&aggregate=declared`),
      ask(`receipts?indicator=${OUTPUT}&country=USA&year=2005&transform=share:wb-sub-saharan-africa`),
      ask(`receipts?indicator=${OUTPUT}&country=@eu&year=2005&aggregate=declared`),
    ]);
    expect(codes.map(({ status }) => status)).toEqual([403, 403, 422, 422, 422, 404, 404]);
    expect((await ask('ping')).json.data.credits).toEqual(before);
  });
});

const GENUINE = await provedReceipts(ask);

const isRefused = (receipt: DerivationReceipt): boolean => {
  try {
    verifyDerivation(JSON.stringify(receipt), keys);
    return false;
  } catch (error) {
    if (error instanceof Refused) return true;
    throw error;
  }
};

describe('the verifier of derived figures', () => {
  test('accepts what was served', () => {
    expect(GENUINE.map(isRefused)).toEqual(GENUINE.map(() => false));
  });

  test.each(Object.keys(FORGERIES))('refuses another: %s', (name) => {
    for (const genuine of GENUINE) {
      const forged = structuredClone(genuine);
      FORGERIES[name]?.(forged);
      expect(isRefused(forged), forged.recipe.place).toBe(true);
    }
  });

  test('refuses another membership of a group, and territories', () => {
    const forged = GENUINE.flatMap(withOtherGroups);
    expect(forged.length).toBeGreaterThan(4);
    expect(forged.map(isRefused)).toEqual(forged.map(() => true));
  });

  test('refuses each row that is left out, also with the path of the rest', () => {
    const forged = GENUINE.flatMap(withoutRows);
    expect(forged.map(isRefused)).toEqual(forged.map(() => true));
  });

  test('is a command, and imports nothing but the verifier of receipts and the arithmetic', async () => {
    const receipt = join(root, 'derived.json');
    await writeFile(receipt, JSON.stringify({ data: GENUINE[0], meta: {} }));
    const known = join(root, 'known.json');
    await writeFile(known, (await service.get('/.well-known/almanac-keys.json')).text);
    const run = (...args: string[]) =>
      spawnSync('node', ['data/proofs/verify-command.ts', ...args], { encoding: 'utf8' });
    const verified = run(receipt, '--key', known);
    expect(verified.stdout).toContain('Verified.');
    expect(verified.stdout).toContain(
      `${OUTPUT} growth:1, CIV, ${GENUINE[0]?.recipe.year}: ${GENUINE[0]?.figure.value}`,
    );
    expect([verified.status, run(receipt).status]).toEqual([0, 3]);
    const names = ['recompute', 'derivation', 'aggregate', 'transforms'];
    for (const name of names)
      expect(importsOf(`data/derived/${name}.ts`).every((one) => one.startsWith('./'))).toBe(true);
    expect(importsOf('data/proofs/verify-derivation.ts').toSorted()).toEqual([
      '../derived/aggregate.ts',
      '../derived/recompute.ts',
      './verify-receipt.ts',
      'node:crypto',
    ]);
  });
});
