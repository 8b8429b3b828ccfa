/** The TypeScript client verifies receipts as the verifier of the service does, and refuses an edit of any character. */
import { expect, it } from 'vitest';
import { AlmanacError, parseKeys, Refused, verifyReceipt } from '../../clients/typescript/src/index.ts';
import { forgeries, sound } from '../data/proofs/forgeries.ts';
import { outcomeOfClient } from '../data/proofs/outcomes.ts';
import type { Evidence } from '../data/proofs/tampering.ts';
import { evidenceOfGrowth, GENUINE, GROWN } from '../data/proofs/vectors.ts';

const [FIRST = expect.fail('no receipt')] = GENUINE;

const outcomes = async (cases: [name: string, Evidence][]): Promise<string[]> =>
  Promise.all(cases.map(async ([name, evidence]) => `${name}: ${await outcomeOfClient(evidence)}`));

it('accepts what is sound', async () => {
  const good = GENUINE.flatMap((one) => Object.entries(sound(one)));
  expect(await outcomes(good)).toEqual(good.map(([name]) => `${name}: accepted`));
  const grown = GROWN.flatMap((receipt) => GROWN.map((kept) => evidenceOfGrowth(receipt, kept)));
  for (const evidence of grown) expect(await outcomeOfClient(evidence)).toBe('accepted');
});

it('refuses what is forged', async () => {
  const bad = GENUINE.flatMap((one) => Object.entries(forgeries(one)));
  expect(await outcomes(bad)).toEqual(bad.map(([name]) => `${name}: refused`));
});

/** Another character of the same kind where there is one, so that the text stays JSON. */
function edited(character: string): string {
  if (/\d/.test(character)) return String((Number(character) + 1) % 10);
  if (/[a-z]/i.test(character))
    return character.toLowerCase() === 'z' ? 'a' : String.fromCharCode(character.charCodeAt(0) + 1);
  return character === '_' ? '-' : '_';
}

it('refuses a receipt of which one character was edited, whichever it is', async () => {
  const keys = await parseKeys(JSON.stringify(FIRST.keys));
  const text = JSON.stringify(FIRST.receipt);
  const { row, root } = await verifyReceipt(text, keys);
  expect([row.value, root.length]).toEqual([FIRST.receipt.row.value, 64]);
  // The notice is not proved, and no verifier looks at it.
  const end = text.indexOf('"notice":') + '"notice":'.length;
  expect(end).toBeGreaterThan(text.length / 2);
  for (let at = 0; at < end; at += 1) {
    const forged = text.slice(0, at) + edited(text.charAt(at)) + text.slice(at + 1);
    const error = await verifyReceipt(forged, keys).catch((one: unknown) => one);
    if (!(error instanceof Refused)) expect.fail(`accepted: ${forged.slice(at - 20, at + 20)}`);
  }
});

it('names the part of a receipt that was altered', async () => {
  const keys = await parseKeys(JSON.stringify(FIRST.keys));
  const { row, descriptor, edition, proofs } = FIRST.receipt;
  const parts: [object, string][] = [
    [{ row: { ...row, value: 1 } }, 'The row or its path was altered'],
    [{ proofs: { ...proofs, row: { ...proofs.row, index: proofs.row.index + 1 } } }, 'The row or its path'],
    [{ descriptor: { ...descriptor, unit: 'apples' } }, 'The descriptor or its path was altered'],
    [
      { edition: { ...edition, published_at: '2020-01-01T00:00:00+00:00' } },
      'The edition, the number of rows',
    ],
    [{ checkpoint: FIRST.receipt.checkpoint.replace(/\n\d+\n/, '\n99\n') }, 'checkpoint'],
    [{ row: { ...row, value: 1 }, descriptor: { ...descriptor, unit: 'apples' } }, 'neither leads'],
  ];
  for (const [altered, message] of parts)
    await expect(verifyReceipt(JSON.stringify({ ...FIRST.receipt, ...altered }), keys)).rejects.toThrow(
      message,
    );
});

it('says that a runtime cannot verify', async () => {
  const { crypto } = globalThis;
  const keys = await parseKeys(JSON.stringify(FIRST.keys));
  Object.defineProperty(globalThis, 'crypto', { value: {}, configurable: true });
  try {
    const error = await verifyReceipt(JSON.stringify(FIRST.receipt), keys).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(AlmanacError);
    expect(error).toMatchObject({ name: 'Unsupported', message: expect.stringContaining('WebCrypto') });
  } finally {
    Object.defineProperty(globalThis, 'crypto', { value: crypto, configurable: true });
  }
});
