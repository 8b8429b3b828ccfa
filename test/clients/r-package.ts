/** The R client as its users get it: an archive, installed in a library of its own. */
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Evidence } from '../data/proofs/tampering.ts';
import { run } from './python-package.ts';

export const PACKAGE = join(import.meta.dirname, '../../clients/r');

export interface InstalledR {
  directory: string;
  archive: string;
  /** For R_LIBS. */
  library: string;
}

/** Builds the archive and installs it in a temporary directory. */
export async function installR(): Promise<InstalledR> {
  const directory = await mkdtemp(join(tmpdir(), 'alm-r-'));
  const library = await mkdtemp(join(directory, 'library-'));
  await run('R', ['CMD', 'build', PACKAGE], {}, directory);
  const [name = ''] = (await readdir(directory)).filter((file) => file.endsWith('.tar.gz'));
  const archive = join(directory, name);
  await run('R', ['CMD', 'INSTALL', '--library', library, archive], {}, directory);
  return { directory, archive, library };
}

/** Runs a program of the package's tests, or what follows `-e`. */
export const runR = (
  { directory, library }: InstalledR,
  words: readonly string[],
  variables: Record<string, string> = {},
): Promise<string> => run('Rscript', words, { R_LIBS: library, ...variables }, directory);

/** @returns for each what the package says: `accepted`, or `refused: ` and why */
export async function verifyWithR(installed: InstalledR, all: readonly Evidence[]): Promise<string[]> {
  const inBase64 = all.map((evidence) =>
    Object.fromEntries(
      Object.entries(evidence).map(([name, file]) => [name, Buffer.from(file).toString('base64')]),
    ),
  );
  const file = join(installed.directory, 'evidence.json');
  await writeFile(file, JSON.stringify(inBase64));
  return (await runR(installed, [join(PACKAGE, 'tests/service/verify_evidence.R'), file]))
    .trimEnd()
    .split('\n');
}
