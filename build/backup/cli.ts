/**
 * The command line of backup and restore: `npm run backup -- --to DIR`, `npm run restore -- --from DIR`.
 * Exit codes: 0 done, 1 failed or refused, 2 usage error.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createLog } from '../../data/runtime/log.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { printedError, UsageError } from '../runtime/errors.ts';
import { type OpenRedis, openRedis } from '../runtime/redis-connection.ts';
import { createBackup } from './backup.ts';
import { assertServiceStopped } from './redis-dump.ts';
import { restoreBackup } from './restore.ts';

const USAGE = `usage: npm run backup -- --to DIR [--json]
       npm run restore -- --from DIR [--force] [--json]

  --to DIR     where the backup is written: a directory that is absent or empty
  --from DIR   the backup to restore
  --force      empty Redis and replace all files, instead of refusing when there are any
  --json       print one JSON object`;

interface Command {
  name: 'backup' | 'restore';
  directory: string;
  force: boolean;
  json: boolean;
}

const OPTIONS = {
  backup: { to: { type: 'string' }, json: { type: 'boolean' } },
  restore: { from: { type: 'string' }, force: { type: 'boolean' }, json: { type: 'boolean' } },
} as const;

function parse([name, ...args]: readonly string[]): Command {
  if (name !== 'backup' && name !== 'restore') throw new UsageError('backup or restore?');
  try {
    const { values } = parseArgs({ args, options: OPTIONS[name] });
    const { to, from, force = false, json = false } = values as Record<string, string & boolean>;
    const directory = to ?? from ?? '';
    if (directory === '') throw new UsageError(name === 'backup' ? 'where to?' : 'where from?');
    return { name, directory: resolve(directory), force, json };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message);
  }
}

/** @returns the result as JSON and as a sentence. */
async function execute(
  { name, directory, force }: Command,
  { redis, settings }: OpenRedis,
): Promise<[object, string]> {
  if (name === 'backup') {
    const done = await createBackup({ redis, settings, now: Date.now }, directory);
    // The dashboard of the operator area says when there was none for long.
    await redis.set(redisKeys.backedUp, Date.now());
    const size = `${done.keys} keys and ${done.files} files, ${(done.bytes / 1e6).toFixed(1)} MB`;
    return [done, `backed up to ${directory}: ${size}`];
  }
  await assertServiceStopped(redis);
  const done = await restoreBackup({ redis, settings }, directory, { force });
  return [done, `restored the backup of ${done.begun_at}: ${done.keys} keys and ${done.files} files`];
}

/** What a command line needs of its process. */
export interface BackupIo {
  env: Record<string, string | undefined>;
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
}

/** Runs one command line and returns its exit code. Never throws. */
export async function run(args: readonly string[], { env, stdout, stderr }: BackupIo): Promise<number> {
  try {
    const command = parse(args);
    const settings = readSettings(env);
    const connection = await openRedis(settings, createLog(settings));
    const [result, line] = await execute(command, connection).finally(() => connection.close());
    stdout.write(`${command.json ? JSON.stringify(result) : line}\n`);
    return 0;
  } catch (error) {
    const isUsage = error instanceof UsageError;
    stderr.write(isUsage ? `${error.message}\n\n${USAGE}\n` : `${printedError(error)}\n`);
    return isUsage ? 2 : 1;
  }
}
