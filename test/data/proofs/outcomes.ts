/** What each verifier written in TypeScript says of evidence: `accepted`, `refused`, or how it failed. */
import * as client from '../../../clients/typescript/src/index.ts';
import * as verifier from '../../../data/proofs/verify-receipt.ts';
import type { Evidence } from './tampering.ts';

/** The verifier of the service. @throws where it refuses */
export function verify({ receipt, keys, rows, since, consistency }: Evidence): void {
  const known = verifier.parseKeys(keys);
  const verified = verifier.verifyReceipt(
    typeof receipt === 'string' ? receipt : verifier.decodeUtf8(receipt),
    known,
  );
  if (rows !== undefined) verifier.verifyRows(verified, rows);
  if (since !== undefined)
    verifier.verifyOneLog(verifier.readCheckpoint(since, known), verified.checkpoint, consistency);
}

async function verifyWithClient({ receipt, keys, rows, since, consistency }: Evidence): Promise<void> {
  const known = await client.parseKeys(bytesOf(keys));
  const verified = await client.verifyReceipt(bytesOf(receipt), known);
  if (rows !== undefined) await client.verifyRows(verified, rows);
  if (since !== undefined)
    await client.verifyOneLog(await client.readCheckpoint(since, known), verified.checkpoint, consistency);
}

const bytesOf = (file: string | Uint8Array) =>
  typeof file === 'string' ? new TextEncoder().encode(file) : Uint8Array.from(file);

const outcomeWith =
  (check: (evidence: Evidence) => void | Promise<void>, Refused: new () => Error) =>
  async (evidence: Evidence): Promise<string> => {
    try {
      await check(evidence);
      return 'accepted';
    } catch (error) {
      return error instanceof Refused ? 'refused' : `failed: ${error}`;
    }
  };

export const outcomeOf = outcomeWith(verify, verifier.Refused);
export const outcomeOfClient = outcomeWith(verifyWithClient, client.Refused);
