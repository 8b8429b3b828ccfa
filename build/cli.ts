/**
 * The command line of the build: `npm run build-data -- <step>` and `npm run nightly`.
 * Exit codes: 0 done, 1 failed, 2 usage error, 3 published although a provider or the archive failed,
 * or countries lost, 4 read although series failed.
 */
import { parseArgs } from 'node:util';
import { CuratedError, loadCurated } from '../data/curated/curated.ts';
import { LockHeldError } from '../data/runtime/file-lock.ts';
import { createLog } from '../data/runtime/log.ts';
import { readSettings, SettingsError } from '../data/runtime/settings.ts';
import { runArchive } from './archive/run-archive.ts';
import { findConnector } from './connectors/registry.ts';
import { NothingToPublish, SnapshotError, withDecisions } from './editions/editions.ts';
import { RunReporter } from './jobs/jobs.ts';
import { CommandError } from './runtime/errors.ts';
import { loggedProgress } from './runtime/progress.ts';
import { loadDecisions, loadOverrides, tryOpenRedis } from './runtime/redis-connection.ts';
import { type Step, type StepContext, type StepOptions, UsageError } from './step.ts';
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

const OPTIONS = {
  provider: { type: 'string', multiple: true },
  run: { type: 'string' },
  to: { type: 'string' },
  force: { type: 'boolean' },
  all: { type: 'boolean' },
  delete: { type: 'boolean' },
  yes: { type: 'boolean' },
  without: { type: 'string' },
  indicator: { type: 'string' },
  reason: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Errors whose message is written for the person at the terminal. All others show their stack. */
const EXPECTED = [CuratedError, SettingsError, LockHeldError, NothingToPublish, CommandError, SnapshotError];

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
    const { context, close } = await openContext(step, io);
    const { result, lines, exitCode } = await step.run(context, options).finally(close);
    io.stdout.write(`${json ? JSON.stringify(result) : lines.join('\n')}\n`);
    return exitCode;
  } catch (error) {
    return report(error, io);
  }
}

function parse(argv: readonly string[]): {
  name: string;
  options: StepOptions;
  json: boolean;
  help: boolean;
} {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    const { json = false, help = false, ...options } = values;
    const [name = '', ...rest] = positionals;
    const [argument] = STEPS.get(name)?.takesArgument ? rest.splice(0, 1) : [];
    if (rest[0] !== undefined) throw new UsageError(`"${rest[0]}" was not expected`);
    return { name, options: { ...options, ...(argument === undefined ? {} : { argument }) }, json, help };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message);
  }
}

async function openContext(step: Step, io: CommandIo) {
  const { signal } = io;
  const settings = readSettings(io.env);
  const curated = await loadCurated(settings.CURATED_DIR);
  const connection = step.usesRedis ? await tryOpenRedis(settings, createLog(settings)) : null;
  const reporter = connection && new RunReporter(connection.redis, Date.now);
  const log = reporter ? createLog(settings, reporter) : createLog(settings);
  const decisions = () => loadDecisions(connection?.redis ?? null, settings, log);
  const context: StepContext = {
    settings,
    curated: withDecisions(curated, await decisions()),
    decisions,
    findConnector,
    now: Date.now,
    log,
    overrides: () => loadOverrides(connection?.redis ?? null, settings, log),
    observer: loggedProgress(log, reporter),
    signal,
    ...(connection && {
      archive: () => runArchive({ redis: connection.redis, settings, now: Date.now, log, signal }),
    }),
    ...(reporter && { signalFor: (subject) => reporter.signalFor(subject) }),
  };
  const close = async (): Promise<void> => {
    await reporter?.close();
    await connection?.close();
  };
  return { context, close };
}

/** Prints an error and returns the exit code for it. */
function report(error: unknown, { stderr }: CommandIo): number {
  if (error instanceof UsageError) {
    stderr.write(`${error.message}\n\n${USAGE}\n`);
    return 2;
  }
  const isExpected = EXPECTED.some((known) => error instanceof known);
  stderr.write(`${error instanceof Error ? (isExpected ? error.message : error.stack) : String(error)}\n`);
  return 1;
}
