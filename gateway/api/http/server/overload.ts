/**
 * Protection against overload: a process refuses calls that it cannot answer in time, and no client takes more than its share
 * of turns and memory.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** While Redis rewrites its append-only file, a queue of two thousand builds up and drains within a second. */
export const LOAD_LIMITS = {
  sustained: 2_048,
  admitted: 256,
  burst: 10_000,
  patience_ms: 1_000,
  late_ms: 50,
  lag_ms: 1_000,
};
export type LoadLimits = typeof LOAD_LIMITS;

const LAG_SAMPLE_MS = 100;
/** Factors by which the admitted number changes from one lag sample to the next, and its minimum. */
const SHRINK = 0.7;
const GROW = 1.25;
const ADMITTED_MIN = 8;

/**
 * Refuses requests at once and for free instead of queueing more than can be answered in time.
 *
 * - A burst is answered: up to `burst` requests may be in flight. Sustained overload is not: after more than
 *   `sustained` in flight for `patience_ms`, only `admitted` are let through at a time, until none had to be refused
 *   for as long.
 * - While the event loop is late by more than `late_ms`, `admitted` shrinks; otherwise it recovers.
 * - Keyed requests are refused first. Anonymous ones are refused only at twice a burst, or when the event loop lags by
 *   more than `lag_ms` repeatedly. Prerendered answers and health checks are never refused: a refusal costs as much.
 */
export class LoadShedder {
  readonly #limits: LoadLimits;
  readonly #now: () => number;
  readonly #log: Logger;
  #inFlight = 0;
  /** Since when more than `sustained` are in flight; null when fewer are. */
  #overSince_ms: number | null = null;
  #isShedding = false;
  #admitted = 0;
  #lastRefusal_ms = 0;
  #lag_ms = 0;
  #previousLag_ms = 0;

  /** @param now monotonic milliseconds. */
  constructor(limits: LoadLimits, log: Logger, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#log = log;
    this.#now = now;
  }

  /** Requests that wait for Redis, Parquet or a queue. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** A request starts to wait; `leave` must follow. */
  enter(): void {
    this.#inFlight += 1;
    if (this.#inFlight > this.#limits.sustained) this.#overSince_ms ??= this.#now();
  }

  leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight <= this.#limits.sustained && !this.#isShedding) this.#overSince_ms = null;
  }

  shouldRefuseKeyed(): boolean {
    if (this.#overSince_ms === null) return false;
    const { burst, patience_ms } = this.#limits;
    const now_ms = this.#now();
    if (!this.#isShedding && now_ms - this.#overSince_ms > patience_ms) this.#start(now_ms);
    if (this.#inFlight >= (this.#isShedding ? this.#admitted : burst)) {
      this.#lastRefusal_ms = now_ms;
      return true;
    }
    if (this.#isShedding && now_ms - this.#lastRefusal_ms > patience_ms) this.#stop();
    return false;
  }

  #start(now_ms: number): void {
    this.#isShedding = true;
    this.#admitted = this.#limits.admitted;
    this.#lastRefusal_ms = now_ms;
    this.#log.warn({ in_flight: this.#inFlight }, 'sustained overload: shedding keyed requests');
  }

  #stop(): void {
    this.#isShedding = false;
    this.#overSince_ms = null;
    this.#log.info('overload is over: keyed requests are admitted again');
  }

  shouldRefuseAnonymous(): boolean {
    return this.#lag_ms > this.#limits.lag_ms || this.#inFlight >= 2 * this.#limits.burst;
  }

  /** Takes a sample of event loop lag. A single pause is over when it is seen, so only two in a row count. */
  recordLag(lag_ms: number): void {
    this.#lag_ms = Math.min(lag_ms, this.#previousLag_ms);
    this.#previousLag_ms = lag_ms;
    const { admitted, late_ms } = this.#limits;
    if (lag_ms > late_ms) this.#admitted = Math.max(ADMITTED_MIN, SHRINK * this.#admitted);
    else this.#admitted = Math.min(admitted, GROW * this.#admitted);
  }

  /** Starts to sample the event loop. @returns stops it. */
  watch(): () => void {
    let due_ms = this.#now() + LAG_SAMPLE_MS;
    const timer = setInterval(() => {
      const now_ms = this.#now();
      this.recordLag(now_ms - due_ms);
      due_ms = now_ms + LAG_SAMPLE_MS;
    }, LAG_SAMPLE_MS).unref();
    return () => clearInterval(timer);
  }
}

const PERIOD_MS = 10;
const STARTS = 4;
/** An address is forgotten after so many periods without a request. Until then it waits, as far as others are concerned. */
const IDLE_PERIODS = 20;
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

interface Caller {
  /** Requests without an answer, those that wait included. */
  open: number;
  /** In this period. */
  started: number;
  idlePeriods: number;
  isRefused: boolean;
  waiting: (() => void)[];
}

/**
 * Wraps a listener so that one address cannot keep the process from answering others.
 *
 * Each turn of the event loop would serve all that has arrived, and thirty connections of one caller always have another
 * request there. So while anybody else waits for an answer, an address starts at most `STARTS` requests a period; the rest
 * waits. Requests with a key are not held back, unless the last answer to the address was a refusal. An address that is
 * alone is never held back: behind a proxy without `TRUST_PROXY` everybody has the same.
 * @param addressOf of the caller; see `addressReader`
 */
export function takeFairTurns(
  listener: RequestListener,
  addressOf: (request: IncomingMessage) => string,
): RequestListener {
  const callers = new Map<string, Caller>();
  let timer: NodeJS.Timeout | null = null;

  const beginPeriod = (): void => {
    for (const [address, caller] of callers) {
      caller.started = 0;
      caller.idlePeriods = caller.open === 0 ? caller.idlePeriods + 1 : 0;
      if (caller.idlePeriods > IDLE_PERIODS) callers.delete(address);
    }
    for (const caller of callers.values())
      for (const start of caller.waiting.splice(0, callers.size === 1 ? caller.waiting.length : STARTS))
        start();
    if (callers.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };

  return (request, response) => {
    const address = addressOf(request);
    let caller = callers.get(address);
    if (caller === undefined) {
      caller = { open: 0, started: 0, idlePeriods: 0, isRefused: false, waiting: [] };
      callers.set(address, caller);
      timer ??= setInterval(beginPeriod, PERIOD_MS).unref();
    }
    const own = caller;
    own.open += 1;
    response.on('close', () => {
      own.open -= 1;
      own.isRefused = REFUSALS.has(response.statusCode);
    });
    const isHeld =
      callers.size > 1 &&
      (own.isRefused || request.headers.authorization === undefined) &&
      (own.started >= STARTS || own.waiting.length > 0);
    const start = (): void => {
      own.started += 1;
      if (!response.destroyed) listener(request, response);
    };
    if (isHeld) own.waiting.push(start);
    else start();
  };
}

/** How long a client may read nothing. */
export const IDLE_MS = 60_000;

const LIMITS = {
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

/**
 * Bounds the memory and time that slow clients hold. An answer that the system did not accept whole keeps its bytes and
 * its connection until the client has read it. Bytes shared by several answers count for each.
 *
 * - A client is cut off when it takes longer than `grace_ms` plus a second per `min_bytes_per_s`, or reads nothing for
 *   `idle_ms`.
 * - When all unfinished answers exceed `budget_bytes`, the oldest are cut off, but none younger than `young_ms`.
 */
export class SlowClients {
  readonly #limits: typeof LIMITS;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #unfinished = new Map<ServerResponse, Unfinished>();
  readonly #bySocket = new WeakMap<Socket, Set<ServerResponse>>();
  #bytes = 0;

  /** @param now monotonic milliseconds. */
  constructor(limits = LIMITS, now: () => number = () => performance.now()) {
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
