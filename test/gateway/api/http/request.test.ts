/** Ids of requests: ours, which is never given twice, and a client's own beside it. */
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { clientRequestId } from '../../../../gateway/api/http/api/response.ts';
import { createRequestIds } from '../../../../gateway/api/http/server/server.ts';

const MANY = 5_000;

test('new ids are safe and unique across processes', () => {
  const [one, other] = [createRequestIds(), createRequestIds()];
  const ids = Array.from({ length: MANY }, () => [one(), other()]).flat();
  expect(new Set(ids).size).toBe(2 * MANY);
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
});

test('all ids of a process share a prefix', () => {
  const next = createRequestIds();
  const processes = Array.from({ length: MANY }, () => next().replace(/-[^-]*$/, ''));
  expect(new Set(processes).size).toBe(1);
});

test.each([
  ['mine-1', 'mine-1'],
  ['a'.repeat(64), 'a'.repeat(64)],
  ['a'.repeat(65), null],
  ['two words', null],
  ['', null],
  [undefined, null],
])("of a client's %j is kept %j", (sent, id) => {
  const request = { headers: { 'x-request-id': sent } } as unknown as IncomingMessage;
  expect(clientRequestId(request)).toBe(id);
});
