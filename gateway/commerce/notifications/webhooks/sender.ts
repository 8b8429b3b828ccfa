/** Sends a webhook: one POST without redirects, to public addresses and ports of the web alone, within a time limit. */
import { Agent, request } from 'undici';
import { type ConnectorOptions, webhookConnector } from './webhook-connector.ts';

export const SEND_TIMEOUT_MS = 15_000;
/** How much of a response is kept. */
const MAX_ANSWER_BYTES = 500;

export interface SentWebhook {
  /** Null without a response. */
  status: number | null;
  /** The first bytes of the response, or why there was none. */
  answer: string;
}

/** `timeout_ms` is of the whole exchange. */
export type SenderOptions = Omit<ConnectorOptions, 'timeout_ms'> & { timeout_ms?: number };

export class WebhookSender {
  readonly #agent: Agent;
  readonly #timeout_ms: number;

  constructor({ timeout_ms = SEND_TIMEOUT_MS, ...reach }: SenderOptions) {
    this.#timeout_ms = timeout_ms;
    this.#agent = new Agent({ connect: webhookConnector({ ...reach, timeout_ms }) });
  }

  /** Never rejects. */
  async send(url: string, headers: Record<string, string>, body: string): Promise<SentWebhook> {
    const signal = AbortSignal.timeout(this.#timeout_ms);
    try {
      const response = await request(url, {
        ...{ method: 'POST', body, signal, dispatcher: this.#agent },
        headers: { 'content-type': 'application/json', 'user-agent': 'Almanac-Webhooks/1', ...headers },
      });
      return { status: response.statusCode, answer: await firstBytes(response.body) };
    } catch (error) {
      const limit_s = this.#timeout_ms / 1_000;
      return { status: null, answer: signal.aborted ? `no response within ${limit_s} s` : explain(error) };
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

async function firstBytes(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length >= MAX_ANSWER_BYTES) break;
  }
  return Buffer.concat(parts).subarray(0, MAX_ANSWER_BYTES).toString();
}

/** An attempt to all addresses of a name ends with an error of errors, which has no message. */
function explain(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return explain(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
