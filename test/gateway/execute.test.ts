/** Calls of several adapters: paid from one wallet, and refunded where a fault follows the charge. */
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import type { Call } from '../../gateway/api/core/call.ts';
import { Executor } from '../../gateway/api/core/execute.ts';
import type { Result } from '../../gateway/api/core/result.ts';
import type { Content, Operation } from '../../gateway/api/operations/operation.ts';
import { OPERATIONS } from '../../gateway/api/operations/operations.ts';
import { parameterReader, parseQueryString } from '../../gateway/api/operations/parameters/parameters.ts';
import type { Snapshot } from '../../gateway/api/snapshot/snapshot.ts';
import { NOON, PUBLIC_URL, useService } from './service.ts';

const service = await useService();
const { snapshots, metering } = service;
const contact = 'help@almanac.example';
const executor = new Executor({
  metering,
  snapshots,
  now: () => NOON,
  log: pino({ level: 'silent' }),
  contact,
});

/** An adapter in a few lines: the text of a prerendered file, without compression, caches or headers. */
async function renderText(content: Content, snapshot: Snapshot): Promise<string> {
  if (content.kind !== 'file') throw new Error(`a file was expected, not ${content.kind}`);
  return (await snapshot.routes.bytes(content.path, 'identity')).toString();
}

interface Options {
  key?: string;
  path?: Record<string, string>;
  query?: string;
  requestId?: string;
  render?: Call<string>['render'];
}

function run(operation: Operation, options: Options = {}): Promise<Result<string>> {
  const { key, path = {}, query = '', requestId = 'seam', render = renderText } = options;
  const read = parameterReader(operation.query);
  return Promise.resolve(
    executor.execute({
      operation,
      route: `/v1${operation.path}`,
      requestId,
      authorization: key === undefined ? undefined : `Bearer ${key}`,
      path,
      address: () => '192.0.2.1',
      origin: () => undefined,
      readQuery: () => read(parseQueryString(query)),
      publicUrl: PUBLIC_URL,
      cached: () => null,
      render,
    }),
  );
}

const operation = (name: string): Operation => {
  const found = OPERATIONS.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no operation ${name}`);
  return found;
};

describe('a fault after the charge', () => {
  const failing = (error: Error): Operation => ({
    ...operation('getCountry'),
    plan: () => ({
      kind: 'plan',
      price: 7,
      rows: 3,
      produce: () => {
        throw error;
      },
    }),
  });

  test('in produce is refunded with one ledger entry, and the caller gets an error', async () => {
    const account = await service.account({ credits: 10 });
    const result = await run(failing(new Error('broken')), { key: account.key, requestId: 'broken-1' });
    expect(result).toMatchObject({
      kind: 'error',
      error: { code: 'internal_error' },
      quota: { charged: 0, balance: 10 },
    });
    expect(await service.balance(account)).toBe(10);
    const entries = await service.accounts.ledger(account.account_id, { limit: 10 });
    expect(entries.filter(({ kind }) => kind !== 'grant')).toMatchObject([
      { kind: 'refund', delta: 7, balance: 10, cause: { request_id: 'broken-1' } },
      { kind: 'debit', delta: -7, balance: 3, cause: { request_id: 'broken-1' } },
    ]);
  });

  test('in the rendering of an adapter is refunded too', async () => {
    const account = await service.account({ credits: 10 });
    const render = vi.fn().mockRejectedValue(new Error('no disk'));
    const options = { key: account.key, path: { iso3: 'KEN' }, render };
    expect(await run(operation('getCountry'), options)).toMatchObject({ error: { code: 'internal_error' } });
    expect(render).toHaveBeenCalledOnce();
    expect(await service.balance(account)).toBe(10);
  });

  test('does not hide a refusal: nothing is produced for a balance below the price', async () => {
    const account = await service.account({ credits: 6 });
    const result = await run(failing(new Error('broken')), { key: account.key });
    expect(result).toMatchObject({ kind: 'error', error: { code: 'insufficient_credits' } });
    expect(await service.balance(account)).toBe(6);
  });
});
