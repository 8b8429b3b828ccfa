/** Runs the verifier in Python, with `cryptography` from its package registry. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { installPackages, pythonPath } from '../../python-packages.ts';
import type { Evidence } from './tampering.ts';

const PACKAGES = ['cryptography==48.0.0'];
const VERIFIER = join(import.meta.dirname, 'verify_receipt.py');
const OUTPUT_BYTES = 100_000_000;

export const installPython = (): Promise<void> => installPackages(PACKAGES);

const inBase64 = (evidence: Evidence): Record<string, string> =>
  Object.fromEntries(
    Object.entries(evidence).map(([name, file]) => [name, Buffer.from(file).toString('base64')]),
  );

/** @returns for each what the verifier says */
export function verifyInPython(all: readonly Evidence[]): string[] {
  const { status, stdout, stderr } = spawnSync(
    'env',
    [`PYTHONPATH=${pythonPath(PACKAGES)}`, 'python3', VERIFIER],
    {
      input: all.map((one) => `${JSON.stringify(inBase64(one))}\n`).join(''),
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES,
    },
  );
  if (status !== 0) throw new Error(stderr);
  return stdout.trimEnd().split('\n');
}
