/**
 * Runs Lua scripts.
 *
 * - A script is called by its SHA-1; a server that does not know it (new, restarted, failed over) gets the text once.
 * - Commands of one turn of the event loop leave in one write per connection: the socket is corked until the turn ends
 *   or a batch is full. Unlike the auto-pipelining of ioredis, no command waits for an earlier reply.
 * - `outcomeOf` an error tells whether the script may have run, because a charge of unknown outcome must be reversed.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Cluster, Command } from 'ioredis';
import type { RedisClient } from './redis.ts';
import { replicasAwaited, whenReady } from './redis.ts';
import { ReplicatedWrites } from './replication.ts';

export type Script = ReturnType<typeof readScript>;

/** Reads a script next to a module. @param module its `import.meta.url` @param keys how many of the arguments are keys */
export function readScript(module: string, file: string, keys: number) {
  const text = readFileSync(new URL(file, module), 'utf8');
  return { text, keys, sha: createHash('sha1').update(text).digest('hex') };
}

export type ScriptArguments = readonly (string | number)[];

/** The outcome of a failed command. `not_sent` and `refused` changed nothing; `unknown` (connection lost, timeout) may have. */
export type CommandOutcome = 'not_sent' | 'refused' | 'unknown';

const NOT_SENT = /enableOfflineQueue options is false|Cluster is ended/;

export function outcomeOf(error: unknown): CommandOutcome {
  if (!(error instanceof Error)) return 'unknown';
  if (error.name === 'ReplyError') return 'refused';
  return NOT_SENT.test(error.message) ? 'not_sent' : 'unknown';
}

const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT');

/** How long a retry waits for a lost connection to come back. */
const RECONNECT_WAIT_MS = 1_000;

/** Under load a turn can last for seconds; Redis must not idle until it ends. */
const MAX_BATCH = 64;

const AS_TEXT = { replyEncoding: 'utf8' } as const;

type Corkable = Pick<NodeJS.WritableStream & { cork(): void; uncork(): void }, 'cork' | 'uncork'>;

export class ScriptRunner {
  readonly #redis: RedisClient;
  /** Null without `REDIS_WAIT_REPLICAS`. */
  readonly #replicated: ReplicatedWrites | null;
  #corked: Corkable[] | null = null;
  /** Commands in the current batch. */
  #batched = 0;
  #reconnecting: Promise<boolean> | null = null;

  constructor(redis: RedisClient) {
    this.#redis = redis;
    const replicas = replicasAwaited(redis);
    this.#replicated = replicas > 0 ? new ReplicatedWrites(redis, replicas) : null;
  }

  /**
   * Runs a script. `values` are the keys, then the arguments. Rejects with the error of ioredis; see `outcomeOf`.
   * @param isReplicated waits until as many replicas as configured hold the write.
   */
  run(script: Script, values: ScriptArguments, isReplicated = false): Promise<unknown> {
    this.#cork();
    const send = (name: string, body: string): Promise<unknown> =>
      this.#send(() => new Command(name, [body, script.keys, ...values], AS_TEXT), isReplicated);
    return send('evalsha', script.sha).catch((error: unknown) => {
      if (!isUnknownScript(error)) throw error;
      return send('eval', script.text);
    });
  }

  /**
   * Like `run`, with one retry when the outcome of the first try is unknown. Only for scripts that have their effect
   * once, however often they run. Waits for replicas by default.
   */
  async runIdempotent(script: Script, values: ScriptArguments, isReplicated = true): Promise<unknown> {
    try {
      return await this.run(script, values, isReplicated);
    } catch (error) {
      if (outcomeOf(error) !== 'unknown') throw error;
      await this.#reconnected();
      // Whatever the error of the retry, the outcome of the first try stays unknown.
      return this.run(script, values, isReplicated).catch(() => {
        throw error;
      });
    }
  }

  #send(make: () => Command, isReplicated: boolean): Promise<unknown> {
    if (isReplicated && this.#replicated) return this.#replicated.run(make);
    const command = make();
    this.#redis.sendCommand(command);
    return command.promise;
  }

  /** All commands of a lost connection wait on the same promise. */
  #reconnected(): Promise<boolean> {
    this.#reconnecting ??= whenReady(this.#redis, RECONNECT_WAIT_MS).finally(() => {
      this.#reconnecting = null;
    });
    return this.#reconnecting;
  }

  #cork(): void {
    this.#batched += 1;
    if (this.#batched > MAX_BATCH) this.#uncork();
    if (this.#corked) return;
    const nodes = this.#redis instanceof Cluster ? this.#redis.nodes('master') : [this.#redis];
    this.#corked = nodes.flatMap((node) => node.stream ?? []);
    for (const stream of this.#corked) stream.cork();
    setImmediate(this.#uncork);
  }

  #uncork = (): void => {
    for (const stream of this.#corked ?? []) stream.uncork();
    this.#corked = null;
    this.#batched = 0;
  };
}
