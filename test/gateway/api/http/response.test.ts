/** Representations are sent to many callers: each answer carries its own request id and quota, and the exact bytes. */
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { type Preferences, represent } from '../../../../gateway/api/http/api/representation.ts';
import { type ResponseContext, sendRepresentation } from '../../../../gateway/api/http/api/response.ts';
import { slowClients } from '../../../../gateway/api/http/server/overload.ts';
import type { Snapshot } from '../../../../gateway/api/snapshot/editions/snapshot.ts';

const EVERY_BYTE = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));
const FILES: Record<string, Buffer> = {
  small: EVERY_BYTE,
  large: Buffer.alloc(300_000, EVERY_BYTE),
};
/** More than any system takes for a connection that nobody reads. */
const ASKED_MOST = 20_000;
const WINDOW = { limit: 10, remaining: 9, reset_s: 1_700_000_000, ends_in_s: 5 };

/** As much of a snapshot as files need; two of them may hold the same bytes. */
const snapshotOf = (id: string): Snapshot =>
  ({
    id,
    routes: {
      bytes: (path: string) => FILES[path],
      tag: (path: string) => `"tag of ${path}"`,
    },
  }) as unknown as Snapshot;

interface Asked {
  path: string;
  requestId: string;
  snapshot: Snapshot;
  quota?: ResponseContext['quota'];
  ifNoneMatch?: string;
}

let server: FastifyInstance;
let asked: Asked;

/** A server that answers every request in one way. */
async function answering(send: (reply: FastifyReply) => Promise<void>): Promise<FastifyInstance> {
  const app = Fastify({ genReqId: () => asked.requestId });
  app.get('/', (_request, reply) => void send(reply));
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app;
}

beforeEach(async () => {
  server = await answering(async (reply) => {
    const { path, snapshot, quota = null, ifNoneMatch } = asked;
    const preferences: Preferences = { url: '', acceptEncoding: 'br', ifNoneMatch, isTagged: true };
    const representation = await represent({ kind: 'file', path }, preferences, snapshot);
    sendRepresentation(reply, representation, { quota, snapshotId: snapshot.id });
  });
});

afterEach(() => server.close());

describe.each(Object.keys(FILES))('a file, %s', (path) => {
  it('carries the id of each request and of its snapshot', async () => {
    for (const [requestId, id] of [
      ['one', 'A'],
      ['two', 'A'],
      ['three', 'B'],
      ['four', 'A'],
    ] as const) {
      const request = { path, requestId, snapshot: snapshotOf(id) };
      const unchanged = await rawAnswer({ ...request, ifNoneMatch: `"tag of ${path}"` });
      expect(unchanged.head).toContain('HTTP/1.1 304 ');
      for (const { head } of [await rawAnswer(request), unchanged]) {
        expect(head.match(/^x-request-id: .*$/gm)).toEqual([`x-request-id: ${requestId}`]);
        expect(head).toContain(`x-snapshot: ${id}\r\n`);
      }
    }
  });

  it('is sent byte for byte with its length', async () => {
    for (let time = 0; time < 2; time++) {
      const { head, body } = await rawAnswer({ path, requestId: 'any', snapshot: snapshotOf('A') });
      expect(body.equals(FILES[path] ?? Buffer.alloc(0))).toBe(true);
      expect(head).toContain(`content-length: ${body.length}\r\n`);
      expect(head).toContain('content-encoding: br\r\n');
    }
  });

  it('never shows one caller the quota of another', async () => {
    const request = { path, requestId: 'any', snapshot: snapshotOf('A') };
    const quota = {
      balance: 77,
      window: WINDOW,
      windows: { minute: WINDOW, day: WINDOW },
      charged: 0,
      isRepeat: false,
    };
    for (const each of [request, { ...request, quota }, request]) {
      const { head, body } = await rawAnswer(each);
      const isKeyed = 'quota' in each;
      expect(head.includes('x-credits-remaining: 77')).toBe(isKeyed);
      expect(head).toContain(`cache-control: ${isKeyed ? 'private, no-store' : 'public, max-age'}`);
      expect(body.equals(FILES[path] ?? Buffer.alloc(0))).toBe(true);
    }
  });
});

/** The answer as it went over the wire. */
async function rawAnswer(request: Asked): Promise<{ head: string; body: Buffer }> {
  asked = request;
  const { port } = server.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  const whole = Buffer.concat(chunks);
  const end = whole.indexOf('\r\n\r\n') + 4;
  return { head: whole.toString('latin1', 0, end), body: whole.subarray(end) };
}

test('a part of a kept file counts as all of it until its reader has read it', async () => {
  const [size, to] = [900_001, 70_001];
  const file = { sha256: 'of-a-file', bytes: size, held: Buffer.alloc(size) };
  asked = { path: '', requestId: '1', snapshot: snapshotOf('A') };
  const parts = await answering(async (reply) => {
    const preferences: Preferences = {
      url: '',
      acceptEncoding: undefined,
      ifNoneMatch: undefined,
      isTagged: true,
      file: { isHead: false, range: `bytes=0-${to - 1}`, ifRange: undefined },
    };
    const content = { kind: 'whole', file, name: 'a.parquet', mediaType: 'a/b', credits: [] } as const;
    const representation = await represent(content, preferences, snapshotOf('A'));
    sendRepresentation(reply, representation, { quota: null, snapshotId: 'A' });
  });
  const socket = connect((parts.server.address() as AddressInfo).port, '127.0.0.1').pause();
  for (let asked = 0; slowClients.bytes === 0 && asked < ASKED_MOST; asked += 10) {
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10));
    await nextTurn();
  }
  expect(slowClients.bytes).toBeGreaterThan(0);
  expect(slowClients.bytes % size).toBe(0);
  socket.destroy();
  while (slowClients.bytes > 0) await nextTurn();
  await parts.close();
});
