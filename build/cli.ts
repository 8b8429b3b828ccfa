/**
 * The command line of the build: `npm run build-data -- <step>` and `npm run nightly`.
 * Exit codes: 0 done, 1 failed, 2 usage error, 3 published although a provider or the archive failed,
 * or countries lost, 4 read although series failed.
 */
import { parseArgs } from 'node:util';
import { loadCurated } from '../data/curated/curated.ts';
import { createLog } from '../data/runtime/log.ts';
import { readSettings } from '../data/runtime/settings.ts';
import { RunReporter } from './jobs/jobs.ts';
import { printedError, UsageError } from './runtime/errors.ts';
import { tryOpenRedis } from './runtime/redis-connection.ts';
import { OPTIONS, openContext, type Step, type StepOptions, type StepResult } from './step.ts';
import { STEPS } from './steps.ts';

/** What a command line needs of its process. */
export interface CommandIo {
  env: Record<string, string | undefined>;
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
  /** Cancels the running step. */
  signal: AbortSignal;
}

const USAGE = `usage: npm run build-data -- <step> [options]

${[...STEPS].map(([name, { help }]) => `  ${name.padEnd(12)} ${help}`).join('\n')}

  --json       print one JSON object
  --help       print this`;

/** Runs one command line and returns its exit code. Never throws. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const { name, options, json, help } = parse(argv);
    if (help) {
      io.stdout.write(`${USAGE}\n`);
      return 0;
    }
    const step = STEPS.get(name);
    if (!step) throw new UsageError(name === '' ? 'which step?' : `there is no step "${name}"`);
    const { result, lines, exitCode } = await perform(step, options, io);
    io.stdout.write(`${json ? JSON.stringify(result) : lines.join('\n')}\n`);
    return exitCode;
  } catch (error) {
    const isUsage = error instanceof UsageError;
    io.stderr.write(isUsage ? `${error.message}\n\n${USAGE}\n` : `${printedError(error)}\n`);
    return isUsage ? 2 : 1;
  }
}

function parse(argv: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    const { json = false, help = false, ...options } = values;
    const [name = '', ...rest] = positionals;
    const [argument] = STEPS.get(name)?.takesArgument ? rest.splice(0, 1) : [];
    if (rest[0] !== undefined) throw new UsageError(`"${rest[0]}" was not expected`);
    return { name, options: { ...options, argument }, json, help };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message);
  }
}

async function perform(step: Step, options: StepOptions, { env, signal }: CommandIo): Promise<StepResult> {
  const settings = readSettings(env);
  const curated = await loadCurated(settings.CURATED_DIR);
  const connection = step.usesRedis ? await tryOpenRedis(settings, createLog(settings)) : null;
  const reporter = connection && new RunReporter(connection.redis, Date.now);
  try {
    const log = reporter ? createLog(settings, reporter) : createLog(settings);
    const opened = { redis: connection?.redis ?? null, reporter, log, signal };
    return await step.run(await openContext(settings, curated, opened), options);
  } finally {
    await reporter?.close();
    await connection?.close();
  }
}
