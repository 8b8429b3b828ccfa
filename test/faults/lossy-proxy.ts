/**
 * A network between gateway and Redis as bad as TCP can be: it delays, goes silent for good, and cuts connections
 * before, in the middle of and after what is sent. Bytes that do arrive are the right ones in the right order.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Odds {
  /** Of a cut, by piece of a request and by piece of a reply. */
  cut: number;
  /** Of a delay, by piece. */
  delay: number;
  /** Of silence from now on, by piece of a reply. */
  silence: number;
}

export interface LossyProxy extends AsyncDisposable {
  url: string;
  /** Null: a perfect network. */
  odds: Odds | null;
  /** What was done, by kind. */
  readonly done: { cuts: number; delays: number; silences: number };
}

const DELAY_AT_MOST_MS = 150;

/** @param random numbers from 0 to 1; the same ones do the same. */
export async function startLossyProxy(socketPath: string, random: () => number): Promise<LossyProxy> {
  const lines = new Set<Line>();
  const server = createServer((client) => {
    const line = new Line(client, connect(socketPath), proxy, random);
    lines.add(line);
    line.onEnd = () => lines.delete(line);
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  const proxy: LossyProxy = {
    url: `redis://127.0.0.1:${portOf(server)}`,
    odds: null,
    done: { cuts: 0, delays: 0, silences: 0 },
    [Symbol.asyncDispose]: () => {
      for (const line of lines) line.cut();
      return new Promise((settle) => server.close(() => settle()));
    },
  };
  return proxy;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

/** One connection and its two directions. */
class Line {
  onEnd: () => void = () => {};
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
      socket.on('close', () => this.cut());
    }
    client.on('data', (piece) => this.#pass(piece, client, redis));
    redis.on('data', (piece) => this.#pass(piece, redis, client));
  }

  cut(): void {
    this.#client.destroy();
    this.#redis.destroy();
    this.onEnd();
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
      // Some of it still arrives, or all, and nothing after it; nothing either where pieces before it did not.
      const part = this.#isHeard(from) ? Math.floor(this.#random() * (piece.length + 1)) : 0;
      to.write(piece.subarray(0, part), () => this.cut());
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
