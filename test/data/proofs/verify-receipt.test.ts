/** The verifier accepts the test vectors of docs/receipts.md and refuses everything made from them. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as client from '../../../clients/typescript/src/index.ts';
import { generateSigningKey, parseSigningKey } from '../../../data/proofs/signing-key.ts';
import { verifyDerivation } from '../../../data/proofs/verify-derivation.ts';
import { parseKey, parseKeys, readCheckpoint } from '../../../data/proofs/verify-receipt.ts';
import { useDirectory } from '../../after-tests.ts';
import { importsOf } from '../../style/repository.ts';
import { forgeries, sound } from './forgeries.ts';
import { outcomeOf, verify } from './outcomes.ts';
import { DERIVED, derivationVector, evidenceOfGrowth, GENUINE, GROWN, VECTORS } from './vectors.ts';
import { wholeTrees } from './whole-trees.ts';

const VERIFIER = 'data/proofs/verify-command.ts';
const SIGNER = parseSigningKey(generateSigningKey('almanac.example/log'));
const KEYS = JSON.stringify(VECTORS.keys);
const directory = await useDirectory();

describe('the verifier', () => {
  const [good, bad] = [GENUINE.map(sound), GENUINE.map(forgeries)];
  const outcomes = (all: typeof bad, name: string) =>
    Promise.all(all.map((cases) => outcomeOf(cases[name] ?? expect.fail(name))));

  it.each(Object.keys(good[0] ?? {}))('accepts: %s', async (name) => {
    expect(await outcomes(good, name)).toEqual(GENUINE.map(() => 'accepted'));
  });

  it.each(Object.keys(bad[0] ?? {}))('refuses: %s', async (name) => {
    expect(await outcomes(bad, name)).toEqual(GENUINE.map(() => 'refused'));
  });

  it('accepts proofs between all sizes of a log, whichever of the checkpoints is older', () => {
    for (const receipt of GROWN) for (const kept of GROWN) verify(evidenceOfGrowth(receipt, kept));
  });

  it('recomputes the derived figures of the test vectors, as the TypeScript client does', async () => {
    const [group, chain] = Object.values(DERIVED).map((recipe) => JSON.stringify(derivationVector(recipe)));
    const figures = [group, chain].map((text = '') => verifyDerivation(text, parseKeys(KEYS)).figure);
    expect(figures).toMatchObject([
      { value: 7.5, counted: 2, coverage: 0.789474 },
      { value: expect.closeTo(100 * (Math.sqrt(4.5 / 0.084 / (4.3 / 0.083)) - 1), 10), status: 'estimated' },
    ]);
    const keys = await client.parseKeys(KEYS);
    for (const [at, text = ''] of [group, chain].entries())
      expect((await client.verifyDerivation(text, keys)).figure).toEqual(figures[at]);
    expect(() => verifyDerivation(group?.replace('7.5', '7.25') ?? '', null)).toThrow(
      'The figure is 7.5, not 7.25.',
    );
  });

  it('imports only what Node.js brings along', () => {
    for (const name of importsOf('data/proofs/verify-receipt.ts')) expect(name).toMatch(/^node:/);
  });
});

describe('keys', () => {
  it('are read back from the form in which they are written', () => {
    const text = generateSigningKey('almanac.example/log');
    const key = parseSigningKey(`${text}\n`);
    expect(parseKey(key.publicKey)).toMatchObject({ name: 'almanac.example/log', id: key.id });
  });

  it('are none only where the signature is not asked for', () => {
    expect(() => readCheckpoint(VECTORS.earlier, [])).toThrow('No known key');
    expect(readCheckpoint(VECTORS.earlier, null).signedBy).toEqual([]);
  });

  it('have the form of signed notes', () => {
    // The example of golang.org/x/mod/sumdb/note.
    const text = 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz';
    const key = parseSigningKey(text);
    expect(key.publicKey).toBe('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
  });

  it.each(['', 'PRIVATE+KEY+a+00000000+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'a+00000000+AYEK'])(
    'are refused when they are damaged: %j',
    (text) => {
      expect(() => parseSigningKey(text)).toThrow('not a signing key');
      expect(() => parseKey(text)).toThrow('is not a key');
    },
  );
});

describe('the command line', () => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('node', [VERIFIER, ...args], { encoding: 'utf8' });
    return { status, said: stdout + stderr };
  };
  const receipt = file('receipt.json', JSON.stringify({ data: VECTORS.receipts[1], meta: {} }));
  const keys = file('keys.json', KEYS);
  const [, second] = VECTORS.keys.keys;

  it('verifies with a list of keys, with one key, and against an earlier checkpoint', () => {
    const since = file('checkpoint.txt', VECTORS.earlier);
    const proof = file('proof.json', JSON.stringify({ data: VECTORS.consistency, meta: {} }));
    const result = run(receipt, '--key', keys, '--since', since, '--consistency', proof);
    expect(result.said).toContain('Verified. This was published, signed by the key 47341414');
    expect(result.said).toContain(
      'example.rain, DEU, 2023: 958 (unit: mm "net"), bounds 950.25 to 965.75, status',
    );
    expect(result.said).toContain('from 2 upstream files of example:');
    expect(result.status).toBe(0);
    expect(run(receipt, '--key', second?.key ?? '').status).toBe(0);
  });

  it('rebuilds the tree from the rows of the indicator', () => {
    const {
      receipt: one,
      keys: list,
      rows = '',
    } = wholeTrees({ key: SIGNER }).sound['all rows'] ?? expect.fail();
    const [proof, known] = [file('one.json', String(one)), file('list.json', list)];
    const whole = run(proof, '--key', known, '--rows', file('rows.json', rows));
    expect(whole.said).toContain('and all 3 rows of the indicator, one for each country and year');
    expect(whole.status).toBe(0);
    const cut = file('cut.json', JSON.stringify(JSON.parse(rows).slice(1)));
    expect(run(proof, '--key', known, '--rows', cut)).toEqual({
      status: 1,
      said: 'Refused. The tree has 3 rows, not 2.\n',
    });
  });

  it('tells a refusal, a missing key and a usage error apart', () => {
    const changed = file('changed.json', JSON.stringify(VECTORS.receipts[1]).replace('958', '959'));
    expect(run(changed, '--key', keys)).toEqual({
      status: 1,
      said: 'Refused. Row and descriptor do not belong to one tree.\n',
    });
    expect(run(receipt)).toMatchObject({ status: 3, said: expect.stringContaining('nobody has vouched') });
    for (const args of [
      ...[[], ['absent.json'], [receipt, '--keys', keys], [receipt, keys]],
      [receipt, '--key', keys, '--consistency', keys],
    ])
      expect(run(...args)).toMatchObject({
        status: 2,
        said: expect.stringContaining('usage: npm run -s verify'),
      });
  });
});
