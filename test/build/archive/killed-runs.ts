/** Days of calls, each followed by an archive run that is killed. Used by the test and by `npm run faults`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DAY_MS, dateOfDay, dayOf } from '../../../data/schema/redis-keys.ts';
import { AuditLog } from '../../../gateway/commerce/history/audit-log.ts';
import { expireLock } from '../../expire-lock.ts';
import {
  type Customer,
  createWorld,
  seededRandom,
  UNLIMITED,
  type World,
} from '../../gateway/api/metering/harness.ts';
import type { TestRedis } from '../../redis.ts';
import type { ChildTask } from './archive-child-process.ts';
import { ArchiveOracle } from './archive-oracle.ts';

const CHILD = fileURLToPath(new URL('archive-child-process.ts', import.meta.url));
/** Calls of one day by account. 300 take more than one trim step. */
const CALLS = [1, 20, 300];
const PART_ENTRIES = 120;

/** When to kill: after a number of steps, or a time after the start. */
export type Kill = { step: number } | { after_ms: number };

export interface Night {
  killed: boolean;
  /** Lines that the child printed. */
  said: string[];
  duration_ms: number;
}

export class KilledArchiveRuns {
  readonly #server: TestRedis;
  readonly #dir: string;
  readonly #world: World;
  readonly #audit: AuditLog;
  readonly #customers: Customer[] = [];
  readonly oracle: ArchiveOracle;

  private constructor(server: TestRedis, dir: string, world: World) {
    this.#server = server;
    this.#dir = dir;
    this.#world = world;
    this.#audit = new AuditLog(world.redis, () => world.clock.ms);
    this.oracle = new ArchiveOracle(world.redis, dir);
  }

  static async open(server: TestRedis, dir: string): Promise<KilledArchiveRuns> {
    const nights = new KilledArchiveRuns(server, dir, createWorld(await server.connect(), UNLIMITED));
    for (const _ of CALLS) nights.#customers.push(await nights.#world.customer({ credits: 1_000_000 }));
    return nights;
  }

  /** A day of calls, purchases and changes. Moves the clock to the next day. */
  async day(): Promise<void> {
    const { store, clock } = this.#world;
    for (const [index, { account_id, call }] of this.#customers.entries()) {
      const count = CALLS[index] ?? 0;
      await Promise.all(Array.from({ length: count }, (_, i) => call({ request_id: `r${i}`, rows: i })));
      if (index === 0) {
        const { order_id } = await store.orders.create(account_id, 'small');
        await store.orders.move(order_id, 'paid');
      }
      const subject = `account ${account_id}`;
      const change = { by: 'ada@example.org', action: 'account.note', subject, before: {}, reason: '' };
      await this.#audit.record({ ...change, after: { index }, request_id: 'r' });
    }
    await this.oracle.record();
    clock.ms += DAY_MS;
  }

  /** Archives in a child process, which is killed unless it ends before. */
  async night(kill: Kill | null = null): Promise<Night> {
    const task: ChildTask = {
      url: this.#server.url,
      directory: this.#dir,
      now_ms: this.#world.clock.ms,
      part_entries: PART_ENTRIES,
      kill_at: kill && 'step' in kill ? kill.step : null,
    };
    const child = spawn(process.execPath, [CHILD, JSON.stringify(task)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    let began_ms = 0;
    let timer: NodeJS.Timeout | undefined;
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      if (text === '') {
        began_ms = performance.now();
        if (kill && 'after_ms' in kill) timer = setTimeout(() => child.kill('SIGKILL'), kill.after_ms);
      }
      text += piece;
    });
    const [code, signal] = await once(child, 'close');
    clearTimeout(timer);
    await expireLock(join(this.#dir, '.lock'));
    if (code !== 0 && signal !== 'SIGKILL') throw new Error(`the archive ended with ${code ?? signal}`);
    const said = text.trimEnd().split('\n').slice(1);
    return { killed: signal === 'SIGKILL', said, duration_ms: performance.now() - began_ms };
  }

  /** Number of live entries that should have been archived. */
  async owed(): Promise<number> {
    const { redis, clock } = this.#world;
    const before_ms = (dayOf(clock.ms) - 1) * DAY_MS;
    const keys = this.#customers.map(({ account_id }) => `{a:${account_id}}:ledger`);
    const entries = await Promise.all([...keys, '{audit}:log'].map((key) => redis.xrange(key, '-', '+')));
    const isOld = (fields: readonly string[]): boolean => Number(fields[1]) < before_ms;
    return entries.flat().filter(([, fields]) => fields[0] !== 'at_ms' || isOld(fields)).length;
  }

  get today(): string {
    return dateOfDay(dayOf(this.#world.clock.ms));
  }
}

/** Deterministic kill moments: half after a step, half after a time within a run's duration. */
export function* moments(count: number, steps: number, duration_ms: number): Generator<Kill> {
  const random = seededRandom('moments');
  for (let i = 0; i < count; i += 1) {
    const share = random(4).readUInt32BE() / 2 ** 32;
    yield i % 2 === 0 ? { step: 1 + Math.floor(share * steps) } : { after_ms: share * duration_ms };
  }
}
