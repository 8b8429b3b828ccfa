/** Shared by the parts of the bench: data, Redis, accounts, the load generator and gateway processes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CURRENT_POINTER } from '../../data/schema/snapshot.ts';
import { mirrorDirectory } from '../mirror.ts';
import { type CatalogueIndex, readCatalogue, showSnapshot } from '../shown-snapshot.ts';
import type { FloorQuestion } from './floors.ts';
import { requestText } from './http-client.ts';
import type { LoadJob, LoadResult } from './load.ts';
import {
  type Environment,
  type ForkedTask,
  forkTask,
  type Gateway,
  runNode,
  startGateway,
} from './processes.ts';
import type { Row, Skipped } from './report.ts';
import { type Comparison, throughput } from './throughput.ts';

export interface Account {
  account_id: string;
  key: string;
  key_id: string;
}

export interface OpenSnapshot {
  /** Shows its files under their names. */
  dir: string;
  catalogue: CatalogueIndex;
}

/** Rate limits that no round reaches. */
const UNLIMITED: Environment = Object.fromEntries(
  ['ANONYMOUS', 'PAGES', 'FREE', 'PAID'].flatMap((tier) => [
    [`${tier}_PER_MINUTE`, '1000000000'],
    [`${tier}_PER_DAY`, '1000000000'],
  ]),
);
const CREDITS = 1_000_000_000_000;
const PASS_AT_MOST_MS = 120_000;
/** Makes email addresses unique: sessions of a run share a Redis. */
let people = 0;

interface Place {
  /** Built files; existing ones are reused. */
  dir: string;
  /** A `unix://` address. */
  redisUrl: string;
  say: (line: string) => void;
}

/** One run of the bench. */
export class Session implements AsyncDisposable {
  readonly dir: string;
  /** Settings of every program of this run. One worker, because a floor is one process. */
  readonly settings: Environment;
  readonly say: (line: string) => void;
  readonly load: ForkedTask = forkTask(new URL('load.ts', import.meta.url));
  #snapshot: Promise<OpenSnapshot> | null = null;
  #customer: Promise<Account> | null = null;

  constructor({ dir, redisUrl, say }: Place) {
    this.dir = dir;
    this.say = say;
    this.settings = {
      ...UNLIMITED,
      VAR_DIR: dir,
      SNAPSHOT_DIR: join(dir, 'snapshots'),
      REDIS_URL: redisUrl,
      LOG_LEVEL: 'fatal',
      WORKERS: '1',
    };
  }

  get socket(): string {
    return decodeURIComponent(new URL(this.settings.REDIS_URL ?? '').pathname);
  }

  /** The served snapshot, built on demand. */
  snapshot(): Promise<OpenSnapshot> {
    this.#snapshot ??= this.#openSnapshot();
    return this.#snapshot;
  }

  /** A verified account with more credits than a run spends. */
  customer(): Promise<Account> {
    this.#customer ??= this.openAccount('bench', ['--verified', '--credits', String(CREDITS)]);
    return this.#customer;
  }

  async openAccount(name: string, words: string[] = []): Promise<Account> {
    const email = ['--email', `${name}-${people++}@example.org`];
    const { account_id } = JSON.parse(await this.#command('create', ...email, ...words));
    const { key, key_id } = JSON.parse(await this.#command('key', ...email));
    return { account_id, key, key_id };
  }

  /** An account whose only key is revoked. */
  async openAccountWithRevokedKey(name: string): Promise<Account> {
    const account = await this.openAccount(name, ['--verified']);
    await this.#command('revoke', '--key-id', account.key_id);
    return account;
  }

  /** Runs one command of `npm run account`. */
  async #command(...words: string[]): Promise<string> {
    return (await runNode('admin/cli.ts', [...words, '--json'], this.settings)).stdout;
  }

  /** Starts a gateway on the snapshot and Redis of this run, which has nothing to do any more. */
  async gateway(changes: Environment = {}): Promise<Gateway> {
    await this.snapshot();
    const gateway = await startGateway({ ...this.settings, ...changes });
    await gateway.idle();
    return gateway;
  }

  /** Starts a floor, which answers what it is told to. */
  async floor(stack: AsyncDisposableStack, question: FloorQuestion): Promise<Pick<Gateway, 'port' | 'cpu'>> {
    const floor = stack.use(forkTask(new URL('floors.ts', import.meta.url)));
    return { port: await floor.ask<FloorQuestion, number>(question), cpu: floor.cpu };
  }

  /** Asks for each path once, one after the other. @throws unless each answer is 200 */
  async ask({ port }: Gateway, paths: readonly string[]): Promise<LoadResult> {
    const { key } = await this.customer();
    const requests = paths.map((path) => requestText({ path, headers: { authorization: `Bearer ${key}` } }));
    const job = { port, requests, connections: 1, duration_ms: PASS_AT_MOST_MS, once: true };
    const result = await this.load.ask<LoadJob, LoadResult>(job);
    const { answers, errors } = result;
    if (errors === 0 && answers === paths.length) return result;
    throw new Error(`${paths[0]}: ${answers} answers of ${paths.length}, ${errors} errors`);
  }

  /** Runs a comparison. A failure skips only its own rows. */
  async comparison(
    name: string,
    make: (stack: AsyncDisposableStack) => Promise<Comparison>,
  ): Promise<(Row | Skipped)[]> {
    this.say(name);
    await using stack = new AsyncDisposableStack();
    try {
      return [await throughput(this.load, await make(stack))];
    } catch (error) {
      return [{ name, skipped: `failed: ${(error as Error).message}`, failed: true }];
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.load[Symbol.asyncDispose]();
  }

  async #openSnapshot(): Promise<OpenSnapshot> {
    const snapshots = this.settings.SNAPSHOT_DIR ?? '';
    const pointer = (): Promise<string> => readFile(join(snapshots, CURRENT_POINTER), 'utf8');
    await pointer().catch(() => buildSnapshot(this));
    const shown = await showSnapshot(snapshots);
    return { dir: shown.directory, catalogue: await readCatalogue(shown) };
  }
}

/** Builds the served snapshot: all of Gapminder with a provider mirror, else the starter data. */
async function buildSnapshot({ settings, say }: Pick<Session, 'settings' | 'say'>): Promise<void> {
  const mirror = mirrorDirectory();
  say(mirror === null ? 'publishing the starter data' : 'building all of Gapminder');
  if (mirror === null) return void (await runNode('build/main.ts', ['starter'], settings));
  const withMirror = { ...settings, PROVIDER_MIRROR: mirror };
  await runNode('build/main.ts', ['ingest', '--provider', 'gapminder'], withMirror);
  await runNode('build/main.ts', ['materialise'], withMirror);
}
