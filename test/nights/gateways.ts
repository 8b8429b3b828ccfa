/**
 * Gateways over the editions of simulated nights, each with a caller: on the snapshots themselves, on those of a restored
 * backup, and on the mirror of an origin.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackup } from '../../build/backup/backup.ts';
import { restoreBackup } from '../../build/backup/restore.ts';
import type { TreeSettings } from '../../build/backup/trees.ts';
import { DirectoryTarget, push } from '../../build/editions/push/push.ts';
import { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { parseSigningKey } from '../../data/proofs/signing-key.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { openOrigin } from '../../gateway/api/snapshot/origin/origin.ts';
import { Service, type ServiceOptions } from '../gateway/service.ts';
import { HttpOrigin } from '../http-origin.ts';
import { silentLog, startRedis } from '../redis.ts';
import { Caller, type Rename } from './served.ts';
import type { Site } from './sites.ts';

/** More than all calls cost. */
const CREDITS = 1e12;
/**
 * Only `check` looks for a new snapshot. The memory holds the rows of all nights: most stay from one to the next, and are
 * then read and formatted once.
 */
const SETTINGS = { SNAPSHOT_POLL_MS: '100000000', HOT_CACHE_MB: '2000' };

interface CalledOptions {
  rename: Rename;
  /** Of an account in the Redis of the gateway. Default: that of a new account. */
  key?: string;
  /** Removes what is there for this gateway alone. */
  close?: () => Promise<void>;
}

export class CalledGateway {
  readonly service: Service;
  readonly caller: Caller;
  readonly key: string;
  readonly #close: () => Promise<void>;

  private constructor(service: Service, caller: Caller, key: string, close: () => Promise<void>) {
    this.service = service;
    this.caller = caller;
    this.key = key;
    this.#close = close;
  }

  static async start(
    options: ServiceOptions,
    { rename, key, close = async () => {} }: CalledOptions,
  ): Promise<CalledGateway> {
    const service = await Service.start({ ...options, settings: { ...SETTINGS, ...options.settings } });
    const own = key ?? (await service.account({ credits: CREDITS })).key;
    return new CalledGateway(service, new Caller(service.url, own, rename), own, close);
  }

  async stop(): Promise<void> {
    await this.caller.close();
    await this.service.stop();
    await this.#close();
  }
}

const treesIn = (directory: string): TreeSettings => ({
  VAR_DIR: directory,
  ARCHIVE_DIR: join(directory, 'archive'),
  LAKE_DIR: join(directory, 'lake'),
  SNAPSHOT_DIR: join(directory, 'snapshots'),
  SIGNING_DIR: join(directory, 'signing'),
  CURATED_DIR: join(directory, 'data'),
  REDIS_DIR: join(directory, 'redis'),
});

/**
 * Backs up a site and the Redis of its gateway, restores both into an empty place, and starts a gateway there, which
 * takes the same key.
 */
export async function startRestored(
  site: Site,
  { service, key }: CalledGateway,
  rename: Rename,
): Promise<CalledGateway> {
  const home = await mkdtemp(join(tmpdir(), 'almanac-restored-'));
  const backup = join(home, 'backup');
  const original = { ...treesIn(site.directory), ...site.settings };
  await createBackup({ redis: service.client, settings: original, now: () => site.clock }, backup);
  const redis = await startRedis({ dedicated: true });
  const settings = treesIn(join(home, 'restored'));
  await restoreBackup({ redis: await redis.connect(), settings }, backup);
  const close = (): Promise<void> => rm(home, { recursive: true });
  return CalledGateway.start({ snapshots: settings.SNAPSHOT_DIR, redis }, { rename, key, close });
}

/** Pushes the snapshots of a site to a directory behind a web server, and starts a gateway that follows it. */
export async function startFollowing({ settings }: Site, rename: Rename): Promise<CalledGateway> {
  const home = await mkdtemp(join(tmpdir(), 'almanac-following-'));
  const [target, mirror] = [join(home, 'target'), join(home, 'mirror')];
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  await push(storage, new DirectoryTarget(target), { keep: settings.SNAPSHOT_KEEP });
  const server = await HttpOrigin.start(target);
  const { publicKey } = parseSigningKey(await readFile(join(settings.SIGNING_DIR, 'key'), 'utf8'));
  const following = { SNAPSHOT_ORIGIN: server.url, SNAPSHOT_ORIGIN_KEY: publicKey };
  const origin = await openOrigin(
    readSettings({ VAR_DIR: home, SNAPSHOT_DIR: mirror, ...following }),
    Date.now,
    silentLog,
  );
  if (origin === null) throw new Error('the settings name no origin');
  const close = async (): Promise<void> => {
    await origin.close();
    await server.stop();
    await rm(home, { recursive: true });
  };
  const options = { snapshots: mirror, origin: origin.fetcher, settings: following };
  const gateway = await CalledGateway.start(options, { rename, close });
  const follower = origin.follow(() => gateway.service.snapshots.check());
  await follower.check();
  if (follower.fault === null) return gateway;
  await gateway.stop();
  throw new Error(follower.fault);
}
