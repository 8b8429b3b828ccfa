/** Representations are sent to many callers: each answer carries its own request id and quota, and the exact bytes. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import {
  type Preferences,
  represent,
  TEXT_MAX_BYTES,
} from '../../../../gateway/api/http/api/representation.ts';
import { type ResponseContext, sendRepresentation } from '../../../../gateway/api/http/api/response.ts';
import { slowClients } from '../../../../gateway/api/http/server/slow-clients.ts';
import type { Snapshot } from '../../../../gateway/api/snapshot/editions/snapshot.ts';

const EVERY_BYTE = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));
const FILES: Record<string, Buffer> = {
  small: EVERY_BYTE,
  'at the limit': Buffer.alloc(TEXT_MAX_BYTES, EVERY_BYTE),
  'beyond it': Buffer.alloc(TEXT_MAX_BYTES + 1, EVERY_BYTE),
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

let server: Server;
let asked: Asked;

beforeEach(async () => {
  server = createServer(async (_request, raw) => {
    const { path, requestId, snapshot, quota = null, ifNoneMatch } = asked;
    const preferences: Preferences = { url: '', acceptEncoding: 'br', ifNoneMatch, isTagged: true };
    const representation = await represent({ kind: 'file', path }, preferences, snapshot);
    sendRepresentation(representation, { raw, requestId, quota, snapshotId: snapshot.id });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

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
        expect(head.match(/^X-Request-Id: .*$/gm)).toEqual([`X-Request-Id: ${requestId}`]);
        expect(head).toContain(`X-Snapshot: ${id}\r\n`);
      }
    }
  });

  it('is sent byte for byte with its length', async () => {
    for (let time = 0; time < 2; time++) {
      const { head, body } = await rawAnswer({ path, requestId: 'any', snapshot: snapshotOf('A') });
      expect(body.equals(FILES[path] ?? Buffer.alloc(0))).toBe(true);
      expect(head).toContain(`Content-Length: ${body.length}\r\n`);
      expect(head).toContain('Content-Encoding: br\r\n');
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
      expect(head.includes('X-Credits-Remaining: 77')).toBe(isKeyed);
      expect(head).toContain(`Cache-Control: ${isKeyed ? 'private, no-store' : 'public, max-age'}`);
      expect(body.equals(FILES[path] ?? Buffer.alloc(0))).toBe(true);
    }
  });
});

/** The answer as it went over the wire. */
async function rawAnswer(request: Asked): Promise<{ head: string; body: Buffer }> {
  asked = request;
  const { port } = server.address() as AddressInfo;
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
  const parts = createServer(async (_request, raw) => {
    const preferences: Preferences = {
      url: '',
      acceptEncoding: undefined,
      ifNoneMatch: undefined,
      isTagged: true,
      file: { isHead: false, range: `bytes=0-${to - 1}`, ifRange: undefined },
    };
    const content = { kind: 'whole', file, name: 'a.parquet', mediaType: 'a/b', credits: [] } as const;
    const representation = await represent(content, preferences, snapshotOf('A'));
    sendRepresentation(representation, { raw, requestId: '1', quota: null, snapshotId: 'A' });
  }).listen(0, '127.0.0.1');
  await once(parts, 'listening');
  const socket = connect((parts.address() as AddressInfo).port, '127.0.0.1').pause();
  for (let asked = 0; slowClients.bytes === 0 && asked < ASKED_MOST; asked += 10) {
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10));
    await nextTurn();
  }
  expect(slowClients.bytes).toBeGreaterThan(0);
  expect(slowClients.bytes % size).toBe(0);
  socket.destroy();
  while (slowClients.bytes > 0) await nextTurn();
  parts.close();
});
