/** Programs that tests run to their end. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const OUTPUT_BYTES = 2 ** 26;

export interface RunOptions {
  cwd?: string;
  /** Beside those that this process has. */
  variables?: Record<string, string>;
}

/** @returns what it printed @throws with all that it said, when it fails */
export async function run(
  program: string,
  words: readonly string[],
  { cwd, variables = {} }: RunOptions = {},
): Promise<string> {
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const { stdout } = await promisify(execFile)('env', [...settings, program, ...words], {
    cwd,
    maxBuffer: OUTPUT_BYTES,
  }).catch((error) => {
    throw new Error(`${program} ${words.join(' ')}\n${error.stdout}\n${error.stderr}`);
  });
  return stdout;
}
