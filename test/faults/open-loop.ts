/**
 * An open-loop load generator, run as a process: requests are sent at a fixed rate, whether or not earlier ones have been
 * answered. Latency counts from the time a request was due, which avoids coordinated omission. Connections are opened on
 * demand, up to a limit; requests beyond it queue here, and the wait counts.
 */
import { connect, type Socket } from 'node:net';
import { ResponseReader } from '../bench/response-reader.ts';

export interface OpenLoopJob {
  port: number;
  /** Complete request texts, sent in turn. */
  requests: string[];
  /** Requests per second. */
  rate: number;
  duration_ms: number;
  connections_most: number;
  /** How long to wait for responses after the last request. */
  patience_ms: number;
}

/** Outcomes of the requests due in one second. */
export interface Second {
  due: number;
  /** Status 200. */
  served: number;
  served_p50_ms: number;
  served_p99_ms: number;
  /** Status 503 with Retry-After. */
  refused: number;
  refused_p50_ms: number;
  refused_p99_ms: number;
  /** Any other response, a timeout or a broken connection. */
  failed: number;
}

export interface OpenLoopResult {
  seconds: Second[];
  whole: Second;
  connections: number;
}

interface Tally {
  due: number;
  served_ms: number[];
  refused_ms: number[];
}

const TICK_MS = 1;
const SHIFTED_MOST = 10_000;
const REFUSED = 503;
const SERVED = 200;

const emptyTally = (): Tally => ({ due: 0, served_ms: [], refused_ms: [] });

function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function secondOf({ due, served_ms, refused_ms }: Tally): Second {
  const served = Float64Array.from(served_ms).sort();
  const refused = Float64Array.from(refused_ms).sort();
  return {
    due,
    served: served.length,
    served_p50_ms: percentile(served, 0.5),
    served_p99_ms: percentile(served, 0.99),
    refused: refused.length,
    refused_p50_ms: percentile(refused, 0.5),
    refused_p99_ms: percentile(refused, 0.99),
    failed: due - served.length - refused.length,
  };
}

class OpenLoop {
  readonly #job: OpenLoopJob;
  readonly #requests: Buffer[];
  readonly #tallies: Tally[] = [];
  readonly #idle: Connection[] = [];
  /** Due times of queued requests, from index `#next` on. */
  #waiting: number[] = [];
  #next = 0;
  readonly #open = new Set<Connection>();
  #taken = 0;
  #turn = 0;
  #started_ms = 0;

  constructor(job: OpenLoopJob) {
    this.#job = job;
    this.#requests = job.requests.map((request) => Buffer.from(request, 'latin1'));
  }

  async run(): Promise<OpenLoopResult> {
    const { rate, duration_ms, patience_ms } = this.#job;
    this.#started_ms = performance.now();
    const total = Math.floor((rate * duration_ms) / 1000);
    let sent = 0;
    await new Promise<void>((settle) => {
      const timer = setInterval(() => {
        const passed_ms = performance.now() - this.#started_ms;
        for (const until = Math.min(total, Math.floor((rate * passed_ms) / 1000)); sent < until; sent++)
          this.#arrive(this.#started_ms + (sent * 1000) / rate);
        const isOver = sent === total && this.#taken === 0 && this.#next === this.#waiting.length;
        if (!isOver && passed_ms < duration_ms + patience_ms) return;
        clearInterval(timer);
        settle();
      }, TICK_MS);
    });
    const connections = this.#open.size;
    for (const { socket } of this.#open) socket.destroy();
    const whole = emptyTally();
    for (const { due, served_ms, refused_ms } of this.#tallies) {
      whole.due += due;
      for (const each of served_ms) whole.served_ms.push(each);
      for (const each of refused_ms) whole.refused_ms.push(each);
    }
    return { seconds: this.#tallies.map(secondOf), whole: secondOf(whole), connections };
  }

  #tallyOf(due_ms: number): Tally {
    const second = Math.floor((due_ms - this.#started_ms) / 1000);
    while (this.#tallies.length <= second) this.#tallies.push(emptyTally());
    return this.#tallies[second] ?? emptyTally();
  }

  #arrive(due_ms: number): void {
    this.#tallyOf(due_ms).due += 1;
    const free = this.#idle.pop() ?? this.#another();
    if (free) this.#send(free, due_ms);
    else this.#waiting.push(due_ms);
  }

  #another(): Connection | null {
    if (this.#open.size >= this.#job.connections_most) return null;
    const connection = new Connection(this.#job.port, (status, hasRetry, due_ms) => {
      if (due_ms !== null) this.#answered(status, hasRetry, due_ms);
      if (connection.isBroken) {
        this.#open.delete(connection);
        const at = this.#idle.indexOf(connection);
        if (at >= 0) this.#idle.splice(at, 1);
        return;
      }
      const next = this.#shift();
      if (next === undefined) this.#idle.push(connection);
      else this.#send(connection, next);
    });
    this.#open.add(connection);
    return connection;
  }

  /** Array#shift would move all following items. */
  #shift(): number | undefined {
    const due_ms = this.#waiting[this.#next];
    if (due_ms === undefined) return undefined;
    this.#next += 1;
    if (this.#next > SHIFTED_MOST) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    return due_ms;
  }

  #send(connection: Connection, due_ms: number): void {
    this.#taken += 1;
    connection.send(this.#requests[this.#turn++ % this.#requests.length] ?? Buffer.alloc(0), due_ms);
  }

  #answered(status: number, hasRetry: boolean, due_ms: number): void {
    this.#taken -= 1;
    const tally = this.#tallyOf(due_ms);
    const took_ms = performance.now() - due_ms;
    if (status === SERVED) tally.served_ms.push(took_ms);
    else if (status === REFUSED && hasRetry) tally.refused_ms.push(took_ms);
  }
}

/** Sends one request at a time. `done` is called for each response and when the connection closes. */
class Connection {
  readonly socket: Socket;
  isBroken = false;
  #due_ms: number | null = null;

  constructor(port: number, done: (status: number, hasRetry: boolean, due_ms: number | null) => void) {
    const reader = new ResponseReader();
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('data', (bytes) => {
      if (!reader.push(bytes)) return;
      const { status, head } = reader;
      reader.reset();
      const due_ms = this.#due_ms;
      this.#due_ms = null;
      done(status, /retry-after: \d/i.test(head), due_ms);
    });
    this.socket.on('error', () => {}); // 'close' follows
    this.socket.on('close', () => {
      this.isBroken = true;
      done(0, false, this.#due_ms);
    });
  }

  send(request: Buffer, due_ms: number): void {
    this.#due_ms = due_ms;
    this.socket.write(request);
  }
}

process.on('message', async (job: OpenLoopJob) => {
  process.send?.(await new OpenLoop(job).run());
});
