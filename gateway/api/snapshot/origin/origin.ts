/** Follows the origin of the settings: one process of the gateway mirrors it, and each fetches history from it. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { parseKey } from '../../../../data/proofs/verify-receipt.ts';
import { type Settings, SettingsError } from '../../../../data/runtime/settings.ts';
import { splitList } from '../../../../data/runtime/settings-schema.ts';
import { CURRENT_POINTER, ORIGIN_MARKER, PUBLICATION_LOG } from '../../../../data/schema/snapshot.ts';
import { OriginFollower } from './follower.ts';
import { ObjectCache } from './object-cache.ts';
import { ObjectFetcher } from './object-fetcher.ts';
import { OriginClient } from './origin-client.ts';

const BYTES_PER_GB = 1e9;

export interface Origin {
  fetcher: ObjectFetcher;
  /** Starts to mirror. Only one process does. */
  follow(onPublish: () => Promise<void>): OriginFollower;
  close(): Promise<void>;
}

/**
 * Null without SNAPSHOT_ORIGIN.
 * @throws {SettingsError} when the directory holds snapshots that were built in it.
 */
export async function openOrigin(settings: Settings, now: () => number, log: Logger): Promise<Origin | null> {
  const { SNAPSHOT_ORIGIN: url, SNAPSHOT_ORIGIN_TOKEN: token, SNAPSHOT_DIR: directory } = settings;
  if (url === undefined) return null;
  await claimDirectory(directory, url);
  const client = new OriginClient({ url, token });
  const fetcher = new ObjectFetcher({ directory, client, now });
  let follower: OriginFollower | null = null;
  return {
    fetcher,
    follow(onPublish) {
      follower = new OriginFollower({
        directory,
        client,
        fetcher,
        log,
        onPublish,
        cache: new ObjectCache({ directory, most_bytes: settings.OBJECT_CACHE_GB * BYTES_PER_GB, now }),
        keys: splitList(settings.SNAPSHOT_ORIGIN_KEY ?? '').map((key) => parseKey(key)),
        pollMs: settings.SNAPSHOT_ORIGIN_POLL_S * 1_000,
      });
      follower.start();
      return follower;
    },
    async close() {
      const closing = follower?.close();
      await client.close();
      await closing;
    },
  };
}

/** A mirror is replaced and evicted, so it must not be where snapshots were built. */
async function claimDirectory(directory: string, url: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const names = await readdir(directory);
  if (names.includes(ORIGIN_MARKER)) return;
  if (names.includes(CURRENT_POINTER) || names.includes(PUBLICATION_LOG)) {
    const expected =
      'a directory of its own is needed with SNAPSHOT_ORIGIN: this one has snapshots that were built in it';
    throw new SettingsError(`bad settings\n  SNAPSHOT_DIR: ${expected}`);
  }
  await writeFile(join(directory, ORIGIN_MARKER), `${url}\n`);
}
