/** What tests of pushing look at: the files below a directory, and a follower of what was pushed. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { parseKey } from '../../../data/proofs/verify-receipt.ts';
import { OriginFollower } from '../../../gateway/api/snapshot/origin/follower.ts';
import { ObjectCache } from '../../../gateway/api/snapshot/origin/object-cache.ts';
import { ObjectFetcher } from '../../../gateway/api/snapshot/origin/object-fetcher.ts';
import { OriginClient } from '../../../gateway/api/snapshot/origin/origin-client.ts';

export const KEEP = { keep: 2 };

/** Contents by path. */
export async function filesOf(root: string): Promise<Map<string, string>> {
  const entries = await readdir(root, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return new Map(files.map((file, index) => [file.slice(root.length + 1), contents[index] ?? '']));
}

/** Follows an origin into a directory when it is told to. */
export function followInto(directory: string, url: string, publicKey: string) {
  const client = new OriginClient({ url });
  const follower = new OriginFollower({
    directory,
    client,
    keys: [parseKey(publicKey)],
    pollMs: 60_000,
    fetcher: new ObjectFetcher({ directory, client, now: Date.now }),
    cache: new ObjectCache({ directory, most_bytes: 1e9, now: Date.now }),
    log: pino({ level: 'silent' }),
    onPublish: async () => {},
  });
  return { client, follower };
}
