/**
 * Sends a webhook: one POST without redirects, within a time limit. It goes to addresses of the public internet alone, and to
 * no port that is reserved for anything but the web: webhooks are kept off networks that only this machine reaches, and off
 * services that speak no HTTP.
 */
import { Agent, buildConnector, request } from 'undici';
import {
  isPrivateHost,
  PrivateAddressError,
  publicLookup,
} from '../../../../data/runtime/public-addresses.ts';

/** What ports of URLs may be, in words. */
export const PORTS_EXPECTED = '80, 443, or 1024 and above';

const RESERVED_PORTS_END = 1_024;

/** @param port of a URL; empty for that of its scheme. */
export function isWebhookPort(port: string): boolean {
  return ['', '80', '443'].includes(port) || Number(port) >= RESERVED_PORTS_END;
}

export const SEND_TIMEOUT_MS = 15_000;
/** How much of a response is kept. */
const MAX_ANSWER_BYTES = 500;

export interface SentWebhook {
  /** Null without a response. */
  status: number | null;
  /** The first bytes of the response, or why there was none. */
  answer: string;
}

interface SenderOptions {
  /** Connects to private addresses, too. */
  allowsPrivate: boolean;
  /** Connects to every port. Default false. */
  allowsAnyPort?: boolean;
  /** Of the whole exchange. */
  timeout_ms?: number;
}

export class WebhookSender {
  readonly #agent: Agent;
  readonly #timeout_ms: number;

  constructor({ timeout_ms = SEND_TIMEOUT_MS, allowsPrivate, allowsAnyPort = false }: SenderOptions) {
    this.#timeout_ms = timeout_ms;
    this.#agent = guardedAgent({ timeout_ms, allowsPrivate, allowsAnyPort });
  }

  /** Never rejects. */
  async send(url: string, headers: Record<string, string>, body: string): Promise<SentWebhook> {
    const signal = AbortSignal.timeout(this.#timeout_ms);
    try {
      const response = await request(url, {
        method: 'POST',
        body,
        signal,
        dispatcher: this.#agent,
        headers: { 'content-type': 'application/json', 'user-agent': 'Almanac-Webhooks/1', ...headers },
      });
      const answer = await readAtMost(response.body, MAX_ANSWER_BYTES);
      return { status: response.statusCode, answer: answer.toString() };
    } catch (error) {
      const limit_s = this.#timeout_ms / 1_000;
      return { status: null, answer: signal.aborted ? `no response within ${limit_s} s` : explain(error) };
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** The first bytes of a body; reads no further. */
export async function readAtMost(body: AsyncIterable<Buffer>, bytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(parts).subarray(0, bytes);
}

/** An attempt to all addresses of a name ends with an error of errors, which has no message. */
function explain(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return explain(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** For URLs that strangers chose. Node resolves no address that stands in the URL itself, so it is checked apart. */
export function guardedAgent({
  timeout_ms: timeout = SEND_TIMEOUT_MS,
  allowsPrivate,
  allowsAnyPort = false,
}: SenderOptions): Agent {
  const resolve = buildConnector({ timeout, ...(!allowsPrivate && { lookup: publicLookup() }) });
  const connect: buildConnector.connector = (options, callback) => {
    const { hostname, port } = options;
    if (!allowsPrivate && isPrivateHost(hostname)) callback(new PrivateAddressError(hostname), null);
    else if (!allowsAnyPort && !isWebhookPort(port))
      callback(new Error(`port ${port} is not ${PORTS_EXPECTED}`), null);
    else resolve(options, callback);
  };
  return new Agent({ connect });
}
