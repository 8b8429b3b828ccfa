/** Receipts before the verifier of the Python client. */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Evidence } from '../data/proofs/tampering.ts';
import { type Installed, PACKAGE, run } from './python-package.ts';

/** @returns for each what the verifier says: `accepted`, or `refused: ` and why */
export async function verifyWithPackage(
  { site, wheel }: Installed,
  all: readonly Evidence[],
): Promise<string[]> {
  const inBase64 = all.map((evidence) =>
    Object.fromEntries(
      Object.entries(evidence).map(([name, file]) => [name, Buffer.from(file).toString('base64')]),
    ),
  );
  const file = join(dirname(wheel), 'evidence.json');
  await writeFile(file, JSON.stringify(inBase64));
  const words = [join(PACKAGE, 'tests/verify_evidence.py'), file];
  return (await run('python3', words, { PYTHONPATH: site })).trimEnd().split('\n');
}
