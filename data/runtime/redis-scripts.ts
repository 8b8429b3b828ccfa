/**
 * Runs Lua scripts with as little as can stand between a request and Redis.
 *
 * - A script goes by its SHA-1; a server that does not know it (new, restarted, failed over) is sent the text once.
 * - Commands issued in one turn of the event loop leave in one write per connection: the socket is corked until the
 *   turn ends or enough are together. Nothing waits for an earlier reply, as ioredis' own auto-pipelining would.
 * - A failure says what is known of the command's fate, because only an unknown fate needs care with money.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Cluster, Command } from 'ioredis';
import type { RedisClient } from './redis.ts';
import { replicasAwaited, whenReady } from './redis.ts';
import { Replication } from './replication.ts';

export interface Script {
  sha: string;
  text: string;
  /** How many of the arguments are keys. */
  keys: number;
}

/** Reads a script that lies beside the module that names it. */
export function readScript(module: string, file: string, keys: number): Script {
  const text = readFileSync(new URL(file, module), 'utf8');
  return { text, keys, sha: createHash('sha1').update(text).digest('hex') };
}

export type ScriptArguments = readonly (string | number)[];

/**
 * What became of a failed command: `not_sent` and `refused` changed nothing; of an `unknown` one it cannot be said
 * (cut off, or no answer in time).
 */
export type CommandOutcome = 'not_sent' | 'refused' | 'unknown';

const NOT_SENT = /enableOfflineQueue options is false|Cluster is ended/;

export function outcomeOf(error: unknown): CommandOutcome {
  if (!(error instanceof Error)) return 'unknown';
  if (error.name === 'ReplyError') return 'refused';
  return NOT_SENT.test(error.message) ? 'not_sent' : 'unknown';
}

const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT');

/** How long a command of unknown fate waits for a lost connection to come back. */
const RECONNECT_WAIT_MS = 1_000;

/** Under a flood of requests a turn can last for seconds: Redis is not to stand idle until it ends. */
const HELD_MOST = 64;

const AS_TEXT = { replyEncoding: 'utf8' } as const;

type Corkable = Pick<NodeJS.WritableStream & { cork(): void; uncork(): void }, 'cork' | 'uncork'>;

export class ScriptRunner {
  readonly #redis: RedisClient;
  /** Null where nothing waits for replicas. */
  readonly #replication: Replication | null;
  #corked: Corkable[] | null = null;
  /** Commands that wait for the turn to end. */
  #held = 0;
  #returning: Promise<boolean> | null = null;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    const replicas = replicasAwaited(redis);
    this.#replication = replicas > 0 ? new Replication(redis, replicas) : null;
  }

  /**
   * Runs once. `values` are the keys, then the arguments. Rejects with what ioredis says; see `outcomeOf`.
   * @param lasting waits until as many replicas hold what was written as the connection's settings ask for.
   */
  run(script: Script, values: ScriptArguments, lasting = false): Promise<unknown> {
    this.#cork();
    return this.#send('evalsha', script.sha, script.keys, values, lasting).catch((error: unknown) => {
      if (!isUnknownScript(error)) throw error;
      return this.#send('eval', script.text, script.keys, values, lasting);
    });
  }

  /**
   * Like `run`, and once more when the fate of the first try is unknown. Only for scripts that do the same thing
   * once, however often they arrive. What they change is lasting unless said otherwise.
   */
  async runIdempotent(script: Script, values: ScriptArguments, lasting = true): Promise<unknown> {
    try {
      return await this.run(script, values, lasting);
    } catch (error) {
      if (outcomeOf(error) !== 'unknown') throw error;
      await this.#back();
      // Whatever the second try meets, what became of the first stays unknown.
      return this.run(script, values, lasting).catch(() => {
        throw error;
      });
    }
  }

  #send(
    name: string,
    body: string,
    keys: number,
    values: ScriptArguments,
    lasting: boolean,
  ): Promise<unknown> {
    const make = (): Command => new Command(name, [body, keys, ...values], AS_TEXT);
    if (lasting && this.#replication) return this.#replication.run(make);
    const command = make();
    this.#redis.sendCommand(command);
    return command.promise;
  }

  /** Every command in flight on a lost connection waits on the same promise. */
  #back(): Promise<boolean> {
    this.#returning ??= whenReady(this.#redis, RECONNECT_WAIT_MS).finally(() => {
      this.#returning = null;
    });
    return this.#returning;
  }

  #cork(): void {
    this.#held += 1;
    if (this.#held > HELD_MOST) this.#uncork();
    if (this.#corked) return;
    const nodes = this.#redis instanceof Cluster ? this.#redis.nodes('master') : [this.#redis];
    this.#corked = nodes.flatMap((node) => node.stream ?? []);
    for (const stream of this.#corked) stream.cork();
    setImmediate(this.#uncork);
  }

  #uncork = (): void => {
    for (const stream of this.#corked ?? []) stream.uncork();
    this.#corked = null;
    this.#held = 0;
  };
}
