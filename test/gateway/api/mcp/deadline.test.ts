/** An answer that takes too long is refused, its charge is taken back, and nothing of it is held; one in time outlives a stop. */
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readSettings } from '../../../../data/runtime/settings.ts';
import type { Call } from '../../../../gateway/api/core/call.ts';
import { anonymous, type Result } from '../../../../gateway/api/core/result.ts';
import { LOAD_LIMITS, LoadShedder, slowClients } from '../../../../gateway/api/http/server/overload.ts';
import { createHttpServer } from '../../../../gateway/api/http/server/server.ts';
import { installMcp } from '../../../../gateway/api/mcp/mcp.ts';
import { silentLog } from '../../../redis.ts';

/** Calls get the results that are ready, then wait for theirs. */
class HeldExecutor {
  readonly ready: Result<unknown>[] = [];
  readonly held: ((result: Result<unknown>) => void)[] = [];

  execute = <Rendered>(_call: Call<Rendered>): Promise<Result<Rendered>> =>
    new Promise((resolve) => {
      const give = (result: Result<unknown>) => resolve(result as Result<Rendered>);
      const result = this.ready.shift();
      if (result === undefined) this.held.push(give);
      else give(result);
    });
}

const loadShedder = new LoadShedder(LOAD_LIMITS, silentLog);

async function listening(executor: HeldExecutor, deadline_ms: number) {
  const settings = readSettings({});
  const app = createHttpServer({ settings, log: silentLog, randomId: () => 'a' });
  const common = { executor, loadShedder, slowClients, settings, log: silentLog, deadline_ms };
  installMcp(app, {
    ...common,
    newRequestId: () => 'a',
    addressOf: () => '192.0.2.1',
    publicUrl: 'http://localhost',
  });
  return { app, url: await app.listen({ port: 0, host: '127.0.0.1' }) };
}

type Listening = Awaited<ReturnType<typeof listening>>;

const CALL = { method: 'tools/call', params: { name: 'find_indicators', arguments: { query: 'life' } } };
const NEWEST = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const call = (id: number, meta?: object) => ({
  jsonrpc: '2.0',
  id,
  ...CALL,
  params: { ...CALL.params, ...(meta && { _meta: meta }) },
});

async function post({ url }: Listening, message: object, headers: Record<string, string> = {}) {
  const types = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = JSON.stringify(message);
  // A connection that stays open would hold up the stop of the server.
  const asked = { method: 'POST', body, headers: { ...types, ...headers }, reset: true } as const;
  const { statusCode: status, headers: sent, body: answer } = await request(`${url}/mcp`, asked);
  return { status, retryAfter: sent['retry-after'], body: await answer.text() };
}

const REVISIONS: [string, object, Record<string, string>][] = [
  [
    '2026-07-28',
    call(7, NEWEST),
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': CALL.method, 'mcp-name': CALL.params.name },
  ],
  ['2025-11-25', call(7), { 'mcp-protocol-version': '2025-11-25' }],
];

let executor: HeldExecutor;
beforeEach(() => {
  executor = new HeldExecutor();
});

const paid = (onFault: () => Promise<void>): Result<unknown> => ({
  kind: 'success',
  rendered: { outcome: 'answer', message: 'answered in time', edition: null },
  onFault,
  ...anonymous(null),
});

describe('an answer that takes too long', () => {
  let server: Listening;
  beforeEach(async () => {
    server = await listening(executor, 20);
  });
  afterEach(() => server.app.close());

  test.each(REVISIONS)('is refused and not charged: revision %s', async (_revision, message, headers) => {
    const { status, retryAfter, body } = await post(server, message, headers);
    expect([status, retryAfter, JSON.parse(body)]).toEqual([
      503,
      '5',
      {
        jsonrpc: '2.0',
        id: 7,
        error: {
          code: -32000,
          message: 'The answer took too long; nothing was charged.',
          data: { code: 'unavailable', retry_after_s: 5 },
        },
      },
    ]);
    expect(loadShedder.inFlight).toBe(0);
    const onFault = vi.fn(async () => {});
    executor.held[0]?.(paid(onFault));
    await vi.waitFor(() => expect(onFault).toHaveBeenCalledTimes(1));
  });

  test('is refused before it is counted, too', async () => {
    const { status } = await post(server, { jsonrpc: '2.0', id: 1, method: 'ping' });
    expect(status).toBe(503);
  });

  test('keeps none of its batch from being answered', async () => {
    const onFault = vi.fn(async () => {});
    executor.ready.push(paid(onFault));
    const { status, body } = await post(server, [call(1), call(2)]);
    const answers = [...body.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data));
    expect([status, answers]).toEqual([
      200,
      [
        expect.objectContaining({ id: 1, result: expect.objectContaining({ isError: false }) }),
        expect.objectContaining({ id: 2, error: expect.objectContaining({ code: -32000 }) }),
      ],
    ]);
    expect(onFault).not.toHaveBeenCalled();
  });
});

test.each(REVISIONS)(
  'a call that was accepted is answered while the server stops: revision %s',
  async (_revision, message, headers) => {
    const server = await listening(executor, 60_000);
    const answered = post(server, message, headers);
    await vi.waitFor(() => expect(executor.held).toHaveLength(1));
    const closed = server.app.close();
    await new Promise((resolve) => setImmediate(resolve));
    executor.held[0]?.(paid(async () => {}));
    expect((await answered).body).toContain('answered in time');
    await closed;
  },
);
