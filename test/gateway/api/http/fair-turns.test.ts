/** Fair turns: an address with many requests lets others in, and nobody who is alone waits. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { takeFairTurns } from '../../../../gateway/api/http/server/overload.ts';

interface Sent {
  address: string;
  authorization?: string;
  response: EventEmitter & { statusCode: number; destroyed: boolean };
}

let started: Sent[];
let send: (address: string, authorization?: string) => Sent;

beforeEach(() => {
  vi.useFakeTimers();
  started = [];
  const listener = takeFairTurns(
    (request) => {
      started.push((request as unknown as { sent: Sent }).sent);
    },
    (request) => (request as unknown as { sent: Sent }).sent.address,
  );
  send = (address, authorization) => {
    const response = Object.assign(new EventEmitter(), { statusCode: 200, destroyed: false });
    const sent = { address, ...(authorization !== undefined && { authorization }), response };
    const request = { sent, headers: { authorization } } as unknown as IncomingMessage;
    listener(request, response as unknown as ServerResponse);
    return sent;
  };
});
afterEach(() => vi.useRealTimers());

const startedOf = (address: string): number => started.filter((sent) => sent.address === address).length;
const answer = ({ response }: Sent, status = 200): void => {
  response.statusCode = status;
  response.emit('close');
};

test('an address that is alone never waits', () => {
  for (let count = 0; count < 100; count++) send('a');
  expect(startedOf('a')).toBe(100);
});

test('beside somebody else it starts four requests in ten milliseconds, in their order, and loses none', () => {
  const paid = send('b', 'Bearer key');
  const flood = Array.from({ length: 40 }, () => send('a'));
  expect(startedOf('a')).toBe(4);
  send('b', 'Bearer key');
  expect(startedOf('b')).toBe(2);
  vi.advanceTimersByTime(10);
  expect(startedOf('a')).toBe(8);
  vi.advanceTimersByTime(80);
  expect(started.filter(({ address }) => address === 'a')).toEqual(flood);
  answer(paid);
});

test('what waits starts at once when the others are gone', () => {
  const paid = send('b', 'Bearer key');
  for (let count = 0; count < 400; count++) send('a');
  answer(paid);
  vi.advanceTimersByTime(230);
  expect(startedOf('a')).toBe(400);
});

test('requests with a key are held back only after a refusal', () => {
  send('b');
  const calls = Array.from({ length: 40 }, () => send('a', 'Bearer key'));
  expect(startedOf('a')).toBe(40);
  for (const call of calls) answer(call, 429);
  for (let count = 0; count < 40; count++) send('a', 'Bearer key');
  expect(startedOf('a')).toBe(40);
  vi.advanceTimersByTime(10);
  expect(startedOf('a')).toBe(44);
});

test('a request whose client has gone is not started', () => {
  send('b');
  const flood = Array.from({ length: 5 }, () => send('a'));
  for (const { response } of flood) response.destroyed = true;
  vi.advanceTimersByTime(10);
  expect(startedOf('a')).toBe(4);
});
