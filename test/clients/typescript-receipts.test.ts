/** The TypeScript client verifies receipts as the verifier of the service does. */
import { describe, expect, it } from 'vitest';
import { AlmanacError, parseKeys, verifyReceipt } from '../../clients/typescript/src/index.ts';
import { outcomeOfClient } from '../data/proofs/outcomes.ts';
import { GENUINE } from '../data/proofs/vectors.ts';
import { testReceipts } from './receipt-suite.ts';

describe('receipts', () => testReceipts((all) => Promise.all(all.map(outcomeOfClient))));

const [FIRST = expect.fail('no receipt')] = GENUINE;

it('names the part of a receipt that was altered', async () => {
  const keys = await parseKeys(JSON.stringify(FIRST.keys));
  const verified = await verifyReceipt(JSON.stringify(FIRST.receipt), keys);
  expect([verified.row.value, verified.root.length]).toEqual([FIRST.receipt.row.value, 64]);
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
