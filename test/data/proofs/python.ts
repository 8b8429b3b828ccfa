/** Runs the verifier in Python, with `cryptography` from its package registry. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Evidence } from './tampering.ts';

const PACKAGE = 'cryptography==48.0.0';
const INSTALLED = join(import.meta.dirname, '../../../var/test', PACKAGE);
const VERIFIER = join(import.meta.dirname, 'verify_receipt.py');
const OUTPUT_BYTES = 100_000_000;

/** Installs the package once for all runs. Complete at once or not at all. */
export async function installPython(): Promise<void> {
  if (existsSync(INSTALLED)) return;
  const draft = `${INSTALLED}-${process.pid}`;
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', draft, PACKAGE];
  execFileSync('python3', pip, { stdio: ['ignore', 'ignore', 'inherit'] });
  await rename(draft, INSTALLED).catch(async (error: unknown) => {
    await rm(draft, { recursive: true });
    if (!existsSync(INSTALLED)) throw error;
  });
}

const inBase64 = (evidence: Evidence): Record<string, string> =>
  Object.fromEntries(
    Object.entries(evidence).map(([name, file]) => [name, Buffer.from(file).toString('base64')]),
  );

/** @returns for each what the verifier says */
export function verifyInPython(all: readonly Evidence[]): string[] {
  const { status, stdout, stderr } = spawnSync('env', [`PYTHONPATH=${INSTALLED}`, 'python3', VERIFIER], {
    input: all.map((one) => `${JSON.stringify(inBase64(one))}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES,
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.trimEnd().split('\n');
}
