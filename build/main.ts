/**
 * The command line of the build: `npm run build-data -- <step>` and `npm run nightly`.
 * Exit codes: 0 done, 1 failed, 2 not understood, 3 a night that published although some provider or the archive failed.
 */
import { parseArgs } from 'node:util';
import { CuratedError, loadCurated } from '../data/curated/curated.ts';
import { LockHeldError } from '../data/runtime/file-lock.ts';
import { createLog } from '../data/runtime/log.ts';
import { readSettings, SettingsError } from '../data/runtime/settings.ts';
import { runArchive } from './archive/run-archive.ts';
import { findConnector } from './connectors/registry.ts';
import { NothingToPublish } from './editions/build-snapshot.ts';
import { RunReporter } from './jobs/run-reporter.ts';
import { SnapshotError } from './publish/verify.ts';
import { CommandError } from './runtime/command-error.ts';
import { combineObservers, loggedProgress, terminalProgress } from './runtime/progress.ts';
import { loadOverrides, tryOpenRedis } from './runtime/redis-connection.ts';
import { REDIS_STEPS, STEPS, type StepContext, type StepOptions, UsageError } from './steps.ts';

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
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

function parse(args: readonly string[]): {
  name: string;
  options: StepOptions;
  json: boolean;
  help: boolean;
} {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const { json = false, help = false, ...options } = values;
    if (positionals.length > 1) throw new UsageError(`"${positionals[1]}" was not expected`);
    return { name: positionals[0] ?? '', options, json, help };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message);
  }
}

/** Ctrl-C and a service manager's stop cancel what runs; a second one ends the process at once. */
function cancelOnSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => controller.abort(new Error(`stopped by ${signal}`)));
  }
  return controller.signal;
}

async function run(args: readonly string[]): Promise<number> {
  const { name, options, json, help } = parse(args);
  if (help) {
    console.log(USAGE);
    return 0;
  }
  const step = STEPS.get(name);
  if (!step) throw new UsageError(name === '' ? 'which step?' : `there is no step "${name}"`);
  const settings = readSettings();
  const isTerminal = process.stderr.isTTY;
  // Bars and log lines would write over each other; at a terminal only warnings come through.
  const isQuiet = isTerminal && settings.LOG_LEVEL === 'info';
  const level = { LOG_LEVEL: isQuiet ? ('warn' as const) : settings.LOG_LEVEL };
  const curated = await loadCurated(settings.CURATED_DIR);
  const link = REDIS_STEPS.has(name) ? await tryOpenRedis(settings, createLog(level)) : null;
  const mirror = link && new RunReporter(link.redis, Date.now);
  const log = mirror ? createLog(level, mirror) : createLog(level);
  const display = isTerminal ? terminalProgress(process.stderr, Date.now) : loggedProgress(log);
  const signal = cancelOnSignal();
  const tools: StepContext = {
    settings,
    curated,
    findConnector,
    now: Date.now,
    log,
    overrides: () => loadOverrides(link?.redis ?? null, settings, log),
    observer: mirror ? combineObservers(display, mirror) : display,
    signal,
    ...(link && { archive: () => runArchive({ redis: link.redis, settings, now: Date.now, log, signal }) }),
    ...(mirror && { signalFor: (subject) => mirror.signalFor(subject) }),
  };
  try {
    const { result, lines, exitCode } = await step.run(tools, options);
    display.close();
    console.log(json ? JSON.stringify(result) : lines.join('\n'));
    return exitCode;
  } finally {
    display.close();
    await mirror?.close();
    await link?.close();
  }
}

/** Errors with a message for the person who typed; anything else is a fault and shows where it happened. */
const EXPECTED = [CuratedError, SettingsError, LockHeldError, NothingToPublish, CommandError, SnapshotError];

function explain(error: unknown): number {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${USAGE}`);
    return 2;
  }
  const isExpected = EXPECTED.some((known) => error instanceof known);
  console.error(error instanceof Error ? (isExpected ? error.message : error.stack) : String(error));
  return 1;
}

process.exitCode = await run(process.argv.slice(2)).catch(explain);
