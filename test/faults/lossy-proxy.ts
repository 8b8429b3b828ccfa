/**
 * A faulty TCP network between gateway and Redis: it delays, goes silent, and cuts connections before, during and after
 * transmission. Bytes that arrive are correct and in order.
 */
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../listen.ts';

/** Probabilities from 0 to 1. */
export interface Odds {
  /** Per chunk of a request or a reply. */
  cut: number;
  /** Per chunk. */
  delay: number;
  /** Per chunk of a reply: all later replies of the connection are dropped. */
  silence: number;
}

export interface LossyProxy extends AsyncDisposable {
  url: string;
  /** Null: a perfect network. */
  odds: Odds | null;
  /** Faults so far. */
  readonly done: { cuts: number; delays: number; silences: number };
}

const DELAY_AT_MOST_MS = 150;

/** @param random returns numbers from 0 to 1; a fixed sequence repeats the faults */
export async function startLossyProxy(socketPath: string, random: () => number): Promise<LossyProxy> {
  const server = createServer((client) => new Line(client, connect(socketPath), proxy, random));
  const { port, stop } = await listen(server);
  const proxy: LossyProxy = {
    url: `redis://127.0.0.1:${port}`,
    odds: null,
    done: { cuts: 0, delays: 0, silences: 0 },
    [Symbol.asyncDispose]: stop,
  };
  return proxy;
}

/** One connection and its two directions. */
class Line {
  readonly #client: Socket;
  readonly #redis: Socket;
  readonly #proxy: LossyProxy;
  readonly #random: () => number;
  #isSilent = false;
  #isCut = false;

  constructor(client: Socket, redis: Socket, proxy: LossyProxy, random: () => number) {
    this.#client = client;
    this.#redis = redis;
    this.#proxy = proxy;
    this.#random = random;
    for (const socket of [client, redis]) {
      socket.on('error', () => {});
      socket.on('close', () => this.#cut());
    }
    client.on('data', (piece) => this.#pass(piece, client, redis));
    redis.on('data', (piece) => this.#pass(piece, redis, client));
  }

  #cut(): void {
    this.#client.destroy();
    this.#redis.destroy();
  }

  #pass(piece: Buffer, from: Socket, to: Socket): void {
    const { odds, done } = this.#proxy;
    if (this.#isCut) return;
    if (odds === null) {
      if (this.#isHeard(from)) to.write(piece);
      return;
    }
    if (from === this.#redis && this.#happens(odds.silence)) {
      done.silences++;
      this.#isSilent = true;
    }
    if (this.#happens(odds.cut)) {
      done.cuts++;
      this.#isCut = true;
      // A prefix of the chunk may still arrive, unless earlier chunks were dropped.
      const part = this.#isHeard(from) ? Math.floor(this.#random() * (piece.length + 1)) : 0;
      to.write(piece.subarray(0, part), () => this.#cut());
      return;
    }
    if (this.#happens(odds.delay)) {
      done.delays++;
      from.pause();
      setTimeout(() => from.resume(), this.#random() * DELAY_AT_MOST_MS);
    }
    if (this.#isHeard(from)) to.write(piece);
  }

  #isHeard(from: Socket): boolean {
    return !(this.#isSilent && from === this.#redis);
  }

  #happens(odds: number): boolean {
    return this.#random() < odds;
  }
}
