/** A mirror in the directory of a test, which follows an origin. */
import { type Logger, pino } from 'pino';
import type { LogKey } from '../../../../../data/proofs/verify-receipt.ts';
import { OriginFollower } from '../../../../../gateway/api/snapshot/origin/follower.ts';
import { ObjectCache } from '../../../../../gateway/api/snapshot/origin/object-cache.ts';
import { ObjectFetcher } from '../../../../../gateway/api/snapshot/origin/object-fetcher.ts';
import {
  OriginClient,
  type OriginOptions,
} from '../../../../../gateway/api/snapshot/origin/origin-client.ts';

interface Followed extends OriginOptions {
  directory: string;
  keys: readonly LogKey[];
  most_bytes?: number;
  log?: Logger;
  onPublish?: () => Promise<void>;
}

export function followOrigin({ directory, keys, most_bytes = 1e9, log, onPublish, ...origin }: Followed) {
  const client = new OriginClient(origin);
  const fetcher = new ObjectFetcher({ directory, client, now: Date.now });
  const follower = new OriginFollower({
    directory,
    client,
    fetcher,
    keys,
    pollMs: 60_000,
    cache: new ObjectCache({ directory, most_bytes, now: Date.now }),
    log: log ?? pino({ level: 'silent' }),
    onPublish: onPublish ?? (async () => {}),
  });
  const stop = async () => {
    await follower.close();
    await client.close();
  };
  return { client, fetcher, follower, stop };
}
