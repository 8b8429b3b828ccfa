/** A gateway in a process of its own, whose event loop is watched while it is fuzzed. */
import { Agent } from 'undici';
import { hiddenTokens, Visitor } from '../admin/harness.ts';
import { ChildEventLoops, type Turn } from '../event-loop-watchdog.ts';
import { createCustomers, Deployment, storeOn } from '../faults/deployment.ts';
import type { Access } from './parser-inputs.ts';
import { exchange } from './smuggling.ts';

/** Rate limits that no fuzz reaches, and addresses of its own choice. */
const SETTINGS = {
  PAGES_PER_MINUTE: '1000000000',
  PAGES_PER_DAY: '1000000000',
  TRUST_PROXY: '127.0.0.1',
};
/** Enough to tell which request a turn belongs to. */
const SLOW_MS = 50;
const SHOWN_CHARACTERS = 500;

interface Exchange {
  from_ms: number;
  to_ms: number;
  request: string;
}

/** A part of a text would keep all of it in memory. */
const copied = (text: string): string => Buffer.from(text).toString();

export class FuzzedService implements AsyncDisposable {
  readonly url: string;
  readonly access: Access;
  readonly #stack: AsyncDisposableStack;
  readonly #loops: ChildEventLoops;
  readonly #port: number;
  /** What came before is the start, when modules are loaded and pages rendered ahead. */
  readonly #started_ms = Date.now();
  readonly #slow: Exchange[] = [];

  private constructor(stack: AsyncDisposableStack, loops: ChildEventLoops, port: number, access: Access) {
    this.#stack = stack;
    this.#loops = loops;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.access = access;
  }

  static async start(): Promise<FuzzedService> {
    const stack = new AsyncDisposableStack();
    const loops = stack.use(await ChildEventLoops.watch());
    const deployment = stack.use(await Deployment.open());
    const { port, idle } = await deployment.gateway({ ...loops.environment, ...SETTINGS });
    const [customer] = await createCustomers(storeOn(await deployment.connect()), 1);
    const agent = new Agent();
    const visitor = new Visitor(`http://127.0.0.1:${port}`, agent);
    const { _csrf: csrf = '' } = hiddenTokens(await visitor.get('/account/sign-up'));
    await agent.close();
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    await idle();
    return new FuzzedService(stack, loops, port, { key: customer?.key ?? '', cookie, csrf });
  }

  /** Sends bytes in pieces. @returns the answers */
  async send(pieces: readonly string[]): Promise<string> {
    const from_ms = Date.now();
    const text = await exchange(this.#port, pieces);
    const to_ms = Date.now();
    if (to_ms - from_ms > SLOW_MS)
      this.#slow.push({ from_ms, to_ms, request: copied(pieces.join('').slice(0, SHOWN_CHARACTERS)) });
    return text;
  }

  /** The longest turn of its event loop since its start, with the requests that may have caused it. */
  async longestTurn(): Promise<(Turn & { requests: string[] }) | null> {
    const turn = await this.#loops.longest(this.#started_ms);
    if (turn === null) return null;
    const during = this.#slow.filter(
      ({ from_ms, to_ms }) => from_ms <= turn.ended_at_ms && to_ms >= turn.ended_at_ms - turn.cpu_ms,
    );
    return { ...turn, requests: during.map(({ request }) => request) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
