/**
 * Bounds the memory and time that slow clients hold. An answer that the system did not accept whole keeps its bytes and
 * its connection until the client has read it. Bytes shared by several answers count for each.
 *
 * - A client is cut off when it takes longer than `grace_ms` plus a second per `min_bytes_per_s`, or reads nothing for
 *   `idle_ms`.
 * - When all unfinished answers exceed `budget_bytes`, the oldest are cut off, but none younger than `young_ms`.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface SlowClientLimits {
  budget_bytes: number;
  grace_ms: number;
  min_bytes_per_s: number;
  idle_ms: number;
  young_ms: number;
}

/** How long a client may read nothing. */
export const IDLE_MS = 60_000;

const LIMITS: SlowClientLimits = {
  budget_bytes: 256 * 1024 * 1024,
  grace_ms: 60_000,
  min_bytes_per_s: 4 * 1024,
  idle_ms: IDLE_MS,
  young_ms: 5_000,
};

interface Unfinished {
  bytes: number;
  since_ms: number;
  onEnd: () => void;
  timer: NodeJS.Timeout;
}

export class SlowClients {
  readonly #limits: SlowClientLimits;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #unfinished = new Map<ServerResponse, Unfinished>();
  readonly #bySocket = new WeakMap<Socket, Set<ServerResponse>>();
  #bytes = 0;

  /** @param now monotonic milliseconds. */
  constructor(limits: SlowClientLimits = LIMITS, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Bytes held by unfinished answers. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Watches an answer until it is finished. @param bytes to be read. @param held what is in memory until then.
   * @param onEnd called when it is finished or its connection has ended.
   */
  watch(raw: ServerResponse, bytes: number, held = bytes, onEnd: () => void = () => {}): void {
    const { socket } = raw.req;
    if (socket.destroyed || (raw.writableEnded && raw.writableLength === 0)) return;
    const { grace_ms, min_bytes_per_s, idle_ms } = this.#limits;
    const timer = setTimeout(() => socket.destroy(), grace_ms + (bytes / min_bytes_per_s) * 1000).unref();
    this.#bytes += held;
    this.#unfinished.set(raw, { bytes: held, since_ms: this.#now(), timer, onEnd });
    this.#answersOf(socket).add(raw);
    raw.setTimeout(idle_ms);
    raw.once('close', () => this.#forget(raw));
    if (this.#bytes > this.#limits.budget_bytes) this.#cutOldest();
  }

  /** Node 20 does not close an answer that waits behind another when their connection ends. */
  #answersOf(socket: Socket): Set<ServerResponse> {
    const known = this.#bySocket.get(socket);
    if (known !== undefined) return known;
    const answers = new Set<ServerResponse>();
    this.#bySocket.set(socket, answers);
    socket.once('close', () => {
      for (const raw of answers) this.#forget(raw);
    });
    return answers;
  }

  #forget(raw: ServerResponse): void {
    const unfinished = this.#unfinished.get(raw);
    if (unfinished === undefined) return;
    clearTimeout(unfinished.timer);
    this.#unfinished.delete(raw);
    this.#bySocket.get(raw.req.socket)?.delete(raw);
    this.#bytes -= unfinished.bytes;
    unfinished.onEnd();
  }

  #cutOldest(): void {
    const { budget_bytes, young_ms } = this.#limits;
    const old_ms = this.#now() - young_ms;
    let excess = this.#bytes - budget_bytes;
    for (const [raw, { bytes, since_ms }] of this.#unfinished) {
      if (excess <= 0 || since_ms > old_ms) return;
      raw.req.socket.destroy();
      excess -= bytes;
    }
  }
}

/** The slow clients of this process. */
export const slowClients = new SlowClients();
