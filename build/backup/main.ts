/**
 * The command line of backup and restore: `npm run backup -- --to DIR`, `npm run restore -- --from DIR`.
 * Exit codes: 0 done, 1 failed or refused, 2 not understood.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { LockHeldError } from '../../data/runtime/file-lock.ts';
import { createLog } from '../../data/runtime/log.ts';
import { PrivateRedisError } from '../../data/runtime/private-redis.ts';
import { readSettings, SettingsError } from '../../data/runtime/settings.ts';
import { CommandError } from '../runtime/command-error.ts';
import { type OpenRedis, openRedis } from '../runtime/redis-connection.ts';
import { createBackup } from './backup.ts';
import { restore } from './restore.ts';
import { expectNobodyServes } from './restore-redis.ts';

const USAGE = `usage: npm run backup -- --to DIR [--json]
       npm run restore -- --from DIR [--force] [--json]

  --to DIR     where the backup is written: a directory that is absent or empty
  --from DIR   the backup to restore
  --force      empty Redis and replace all files, instead of refusing when there are any
  --json       print one JSON object`;

/** What was typed is not understood. */
class UsageError extends Error {
  override name = 'UsageError';
}

interface Asked {
  what: 'backup' | 'restore';
  directory: string;
  force: boolean;
  json: boolean;
}

const OPTIONS = {
  backup: { to: { type: 'string' }, json: { type: 'boolean' } },
  restore: { from: { type: 'string' }, force: { type: 'boolean' }, json: { type: 'boolean' } },
} as const;

function understand([what, ...args]: readonly string[]): Asked {
  if (what !== 'backup' && what !== 'restore') throw new UsageError('backup or restore?');
  try {
    const { values } = parseArgs({ args, options: OPTIONS[what] });
    const { to, from, force = false, json = false } = values as Record<string, string & boolean>;
    const directory = to ?? from ?? '';
    if (directory === '') throw new UsageError(what === 'backup' ? 'where to?' : 'where from?');
    return { what, directory: resolve(directory), force, json };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message);
  }
}

async function carryOut({ what, directory, force }: Asked, link: OpenRedis): Promise<[object, string]> {
  const { redis, settings } = link;
  if (what === 'backup') {
    const done = await createBackup({ redis, settings, now: Date.now }, directory);
    const size = `${done.keys} keys and ${done.files} files, ${(done.bytes / 1e6).toFixed(1)} MB`;
    return [done, `backed up to ${directory}: ${size}`];
  }
  await expectNobodyServes(redis);
  const done = await restore({ redis, settings }, directory, { force });
  return [done, `restored the backup of ${done.begun_at}: ${done.keys} keys and ${done.files} files`];
}

async function run(args: readonly string[]): Promise<void> {
  const asked = understand(args);
  const settings = readSettings();
  const link = await openRedis(settings, createLog(settings), 'tool');
  try {
    const [result, line] = await carryOut(asked, link);
    console.log(asked.json ? JSON.stringify(result) : line);
  } finally {
    await link.close();
  }
}

const EXPECTED = [LockHeldError, PrivateRedisError, CommandError, SettingsError];

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
  } else {
    const isExpected = EXPECTED.some((known) => error instanceof known);
    console.error(error instanceof Error ? (isExpected ? error.message : error.stack) : String(error));
    process.exitCode = 1;
  }
}
