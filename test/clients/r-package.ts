/** The R client as its users get it: an archive, installed in a library of its own. */
import { mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { useDirectory } from '../after-tests.ts';
import type { Evidence } from '../data/proofs/tampering.ts';
import { run } from '../run-program.ts';
import { verdictsOn } from './receipt-suite.ts';

export const PACKAGE = join(import.meta.dirname, '../../clients/r');

export interface InstalledR {
  /** Removed after the tests. */
  directory: string;
  archive: string;
  /** For R_LIBS. */
  library: string;
}

/** Builds the archive and installs it. */
export async function installR(): Promise<InstalledR> {
  const cwd = await useDirectory();
  const library = await mkdtemp(join(cwd, 'library-'));
  await run('R', ['CMD', 'build', PACKAGE], { cwd });
  const [name = ''] = (await readdir(cwd)).filter((file) => file.endsWith('.tar.gz'));
  const archive = join(cwd, name);
  await run('R', ['CMD', 'INSTALL', '--library', library, archive], { cwd });
  return { directory: cwd, archive, library };
}

/** Runs a program of the package's tests, or what follows `-e`. */
export const runR = (
  { directory, library }: InstalledR,
  words: readonly string[],
  variables: Record<string, string> = {},
): Promise<string> => run('Rscript', words, { cwd: directory, variables: { R_LIBS: library, ...variables } });

/** @returns for each what the package says: `accepted`, or `refused: ` and why */
export const verifyWithR = (installed: InstalledR, all: readonly Evidence[]): Promise<string[]> =>
  verdictsOn(installed.directory, all, (file) =>
    runR(installed, [join(PACKAGE, 'tests/service/verify_evidence.R'), file]),
  );
