/** The temporary directory of a run, which vitest.config.ts chooses: a global set-up makes it and removes it. */
import { mkdir, rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';

export async function setup({ config }: TestProject): Promise<() => Promise<void>> {
  const { TMPDIR: scratch = '' } = config.env as { TMPDIR?: string };
  await mkdir(scratch, { recursive: true });
  return () => rm(scratch, { recursive: true, force: true });
}
