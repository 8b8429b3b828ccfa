/**
 * `npm run account -- <command> [options]`: accounts, keys, credits, orders and operators from a shell.
 *
 * On success it exits with 0 and prints the result on standard output; with `--json` that is exactly one JSON object.
 * Otherwise it exits with 1 and prints one sentence on standard error. It works with or without a running gateway: it
 * uses REDIS_URL, or joins the private Redis, or starts it for as long as the command runs.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { CuratedError } from '../data/curated/curated.ts';
import { PrivateRedisError, startPrivateRedis } from '../data/runtime/private-redis.ts';
import { connectRedis, whenReady } from '../data/runtime/redis.ts';
import { readSettings, type Settings, SettingsError } from '../data/runtime/settings.ts';
import { exitOnSignals } from '../data/runtime/stop-signals.ts';
import { claimStore } from '../data/runtime/store-version.ts';
import { AccountStore } from '../gateway/commerce/accounts/accounts.ts';
import {
  ACCOUNT_COMMANDS,
  type Command,
  type CommandContext,
  type OptionValues,
  UsageError,
} from '../gateway/commerce/cli/commands.ts';
import { Archive } from '../gateway/commerce/history/history.ts';
import { readPacks, salesTermsOf } from '../gateway/commerce/orders/orders.ts';
import { AccountError } from '../gateway/commerce/store/store.ts';
import { OPERATOR_COMMANDS } from './operator-commands.ts';

const CONNECT_TIMEOUT_MS = 3_000;

/** All commands by name. */
export const COMMANDS: Readonly<Record<string, Command>> = { ...ACCOUNT_COMMANDS, ...OPERATOR_COMMANDS };

export interface CommandIo {
  env: Record<string, string | undefined>;
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
}

/** Runs a command line. Returns the exit code. */
export async function run(argv: readonly string[], { env, stdout, stderr }: CommandIo): Promise<0 | 1> {
  try {
    stdout.write(`${await execute(argv, env)}\n`);
    return 0;
  } catch (error) {
    const isExpected = [AccountError, UsageError, SettingsError, PrivateRedisError, CuratedError].some(
      (type) => error instanceof type,
    );
    const { message } = error instanceof Error ? error : new Error(String(error));
    stderr.write(`${isExpected ? message : `Internal error: ${message}`}\n`);
    return 1;
  }
}

async function execute(argv: readonly string[], env: CommandIo['env']): Promise<string> {
  const invocation = parse(argv);
  if (!invocation) return helpText();
  const { command, values } = invocation;
  const result = await withContext(readSettings(env), (context) => command.run(context, values));
  return values.json ? JSON.stringify(result) : formatText(result);
}

/** Null for a request for help. @throws {UsageError} */
function parse(argv: readonly string[]): { command: Command; values: OptionValues } | null {
  const [name = '', ...args] = argv;
  if (['', 'help', '--help', '-h'].includes(name)) return null;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) {
    throw new UsageError(`There is no command "${name}"; there are ${Object.keys(COMMANDS).join(', ')}.`);
  }
  const options = Object.fromEntries(
    Object.entries(command.options).map(([option, { type }]) => [option, { type }] as const),
  );
  try {
    const { values } = parseArgs({
      args,
      options: { ...options, json: { type: 'boolean' }, help: { type: 'boolean' } },
    });
    return values.help ? null : { command, values };
  } catch (error) {
    // The first sentence names the option; the rest explains how to pass values that begin with a dash.
    const [sentence] = String(error instanceof Error ? error.message : error).split(/\. |\n/);
    const known = [...Object.keys(command.options), 'json'].map((option) => `--${option}`).join(', ');
    throw new UsageError(`${sentence?.replace(/\.$/, '')}; "${name}" takes ${known}.`);
  }
}

function helpText(): string {
  const lines = Object.entries(COMMANDS).flatMap(([name, { help, options }]) => [
    `  ${name.padEnd(17)}${help}`,
    ...Object.entries(options).map(
      ([option, { value, help: meaning }]) => `    ${`--${option} ${value ?? ''}`.padEnd(22)}${meaning}`,
    ),
  ]);
  return ['npm run account -- <command> [options] [--json]', '', ...lines].join('\n');
}

async function withContext<T>(settings: Settings, work: (context: CommandContext) => Promise<T>): Promise<T> {
  const packs = await readPacks(settings.CURATED_DIR);
  const privateRedis = settings.REDIS_URL === undefined ? await startPrivateRedis(settings.REDIS_DIR) : null;
  const log = pino({ level: 'silent' });
  const redis = connectRedis(
    { ...settings, REDIS_URL: privateRedis?.url ?? settings.REDIS_URL },
    log,
    'tool',
  );
  const archive = new Archive(settings.ARCHIVE_DIR);
  try {
    if (!(await whenReady(redis, CONNECT_TIMEOUT_MS)))
      throw new UsageError('Redis (REDIS_URL) does not answer.');
    await claimStore(redis);
    const terms = salesTermsOf(settings);
    const store = new AccountStore({ redis, now: Date.now, random: randomBytes, packs, archive, terms });
    return await work({ store, redis, settings, archive });
  } finally {
    redis.disconnect();
    await archive.close();
    await privateRedis?.stop();
  }
}

/** One `name: value` per line; nested values are indented, lists have dashes. */
function formatText(result: Record<string, unknown>): string {
  return Object.entries(result)
    .map(([name, value]) => {
      if (Array.isArray(value))
        return [`${name}:`, ...value.map((item) => indent(formatText(item), '  - '))].join('\n');
      if (value === null || typeof value !== 'object') return `${name}: ${value ?? '-'}`;
      return `${name}:\n${indent(formatText({ ...value }), '    ')}`;
    })
    .join('\n');
}

const indent = (text: string, first: string): string => first + text.replaceAll('\n', '\n    ');

if (import.meta.main) {
  exitOnSignals();
  process.exitCode = await run(process.argv.slice(2), process);
}
