/**
 * `npm run account -- <command> [options]`: accounts, keys, credits and orders from a shell.
 *
 * Success: exit 0 and the answer on standard output, with `--json` exactly one JSON object. Otherwise: exit 1, nothing
 * on standard output and a sentence on standard error. Works beside a running gateway and without one: it uses
 * REDIS_URL, or joins (or, for its duration, starts) the private Redis.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { CuratedError } from '../../../data/curated/curated.ts';
import { PrivateRedisError, startPrivateRedis } from '../../../data/runtime/private-redis.ts';
import { connectRedis, type RedisClient, whenReady } from '../../../data/runtime/redis.ts';
import { readSettings, type Settings, SettingsError } from '../../../data/runtime/settings.ts';
import { Archive } from '../../archive/archive.ts';
import { AccountStore } from '../account-store.ts';
import { readPacks } from '../orders/packs.ts';
import { type AccountCommand, COMMANDS, type OptionValues, sentenceFor, UsageError } from './commands.ts';

const CONNECT_WITHIN_MS = 3_000;

interface Invocation {
  command: AccountCommand;
  values: OptionValues;
}

/** Null when help was asked for. @throws {UsageError} naming what is not understood. */
function understand(words: readonly string[]): Invocation | null {
  const [name = '', ...rest] = words;
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
      args: rest,
      options: { ...options, json: { type: 'boolean' }, help: { type: 'boolean' } },
    });
    return values.help ? null : { command, values };
  } catch (error) {
    // The first sentence names the option; what follows explains how to pass dashes as values.
    const [sentence] = String(error instanceof Error ? error.message : error).split(/\. |\n/);
    throw new UsageError(`${sentence?.replace(/\.$/, '')}; "${name}" takes ${optionNames(command)}.`);
  }
}

const optionNames = (command: AccountCommand): string =>
  [...Object.keys(command.options), 'json'].map((option) => `--${option}`).join(', ');

function help(): string {
  const lines = Object.entries(COMMANDS).flatMap(([name, { help: purpose, options }]) => [
    `  ${name.padEnd(17)}${purpose}`,
    ...Object.entries(options).map(
      ([option, { value, help: meaning }]) => `    ${`--${option} ${value ?? ''}`.padEnd(22)}${meaning}`,
    ),
  ]);
  return ['npm run account -- <command> [options] [--json]', '', ...lines].join('\n');
}

async function withStore<T>(
  settings: Settings,
  work: (store: AccountStore, redis: RedisClient) => Promise<T>,
): Promise<T> {
  const packs = await readPacks(settings.CURATED_DIR);
  const held = settings.REDIS_URL === undefined ? await startPrivateRedis(settings.REDIS_DIR) : null;
  const log = pino({ level: 'silent' });
  const redis = connectRedis({ ...settings, REDIS_URL: held?.url ?? settings.REDIS_URL }, log, 'tool');
  const archive = new Archive(settings.ARCHIVE_DIR);
  try {
    if (!(await whenReady(redis, CONNECT_WITHIN_MS)))
      throw new UsageError('Redis (REDIS_URL) does not answer.');
    return await work(
      new AccountStore({ redis, now: Date.now, random: randomBytes, packs, log, archive }),
      redis,
    );
  } finally {
    redis.disconnect();
    await archive.close();
    await held?.stop();
  }
}

/** For people: one `name: value` a line; what belongs to a name is indented below it, a list with dashes. */
function asText(answer: Record<string, unknown>): string {
  return Object.entries(answer)
    .map(([name, value]) => {
      if (Array.isArray(value))
        return [`${name}:`, ...value.map((item) => indented(asText(item), '  - '))].join('\n');
      if (value === null || typeof value !== 'object') return `${name}: ${value ?? '-'}`;
      return `${name}:\n${indented(asText({ ...value }), '    ')}`;
    })
    .join('\n');
}

const indented = (text: string, first: string): string => first + text.replaceAll('\n', '\n    ');

async function main(words: readonly string[]): Promise<string> {
  const invocation = understand(words);
  if (!invocation) return help();
  const { command, values } = invocation;
  const settings = readSettings();
  const answer = await withStore(settings, (store, redis) => command.run(store, values, redis, settings));
  return values.json ? JSON.stringify(answer) : asText(answer);
}

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`);
} catch (error) {
  const isExpected =
    error instanceof SettingsError || error instanceof PrivateRedisError || error instanceof CuratedError;
  const sentence = sentenceFor(error) ?? (isExpected ? error.message : `Something failed: ${String(error)}`);
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
