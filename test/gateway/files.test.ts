/** Whole files: their bytes, parts and heads, and what they cost. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it, test } from 'vitest';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { fixturePath } from './fixture-snapshot.ts';
import { type Answer, codeOf, type TestKey, useService } from './service.ts';

const FILE = '/v1/files/beta.long_series.parquet';
/** The fixture has so many rows of it. */
const PRICE = 2750;

const service = await useService();
const bytes = await readFile(await fixturePath(service.directory, observationsFile('beta.long_series')));

const caller = (credits = 10_000): Promise<TestKey> => service.account({ credits });
const charged = ({ headers }: Answer): number => Number(headers['x-credits-charged']);
const ask = (who: TestKey, headers: Record<string, string> = {}, path = FILE, method = 'GET') =>
  service.get(path, { key: who.key, headers, method });

describe('a file', () => {
  it('is the published one, with its hash as entity tag and its credit line', async () => {
    const answer = await ask(await caller(), { 'accept-encoding': 'gzip' });
    expect(answer.status).toBe(200);
    expect(answer.bytes.equals(bytes)).toBe(true);
    expect(answer.headers).toMatchObject({
      etag: `"${createHash('sha256').update(bytes).digest('hex')}"`,
      'content-type': 'application/vnd.apache.parquet',
      'content-length': String(bytes.length),
      'accept-ranges': 'bytes',
      'content-disposition': 'attachment; filename="beta.long_series.parquet"',
      'x-attribution': expect.stringContaining('Beta'),
      'x-snapshot': service.snapshots.current()?.id,
      'cache-control': 'private, no-store',
    });
    expect(answer.headers).not.toHaveProperty('content-encoding');
    expect(charged(answer)).toBe(PRICE);
  });

  it('comes in parts', async () => {
    const who = await caller();
    const size = bytes.length;
    const parts: [range: string, from: number, to: number][] = [
      ['bytes=0-0', 0, 1],
      ['bytes=4-99', 4, 100],
      ['bytes=100-', 100, size],
      ['bytes=-8', size - 8, size],
      [`bytes=10-${size + 5}`, 10, size],
      [`bytes=-${size + 5}`, 0, size],
      ['BYTES=1-2', 1, 3],
      ['bytes=0-99999999999999999999', 0, size],
    ];
    for (const [range, from, to] of parts) {
      const answer = await ask(who, { range });
      expect([range, answer.status]).toEqual([range, 206]);
      expect(answer.headers['content-range']).toBe(`bytes ${from}-${to - 1}/${size}`);
      expect(answer.headers['content-length']).toBe(String(to - from));
      expect(answer.bytes.equals(bytes.subarray(from, to))).toBe(true);
    }
    expect(await service.balance(who)).toBe(10_000 - PRICE);
  });

  it.each(['bytes=5-4', 'bytes=', 'bytes=-', 'items=0-1', 'bytes=a-b', 'bytes=0-1,5-6', 'nonsense'])(
    'comes whole for Range: %s',
    async (range) => {
      const answer = await ask(await caller(), { range });
      expect(answer.status).toBe(200);
      expect(answer.bytes.equals(bytes)).toBe(true);
    },
  );

  it.each(['bytes=-0', 'bytes=999999999-'])('has no part %s: 416, free', async (range) => {
    const who = await caller();
    const answer = await ask(who, { range });
    expect([answer.status, codeOf(answer)]).toEqual([416, 'range_not_satisfiable']);
    expect(answer.headers['content-range']).toBe(`bytes */${bytes.length}`);
    expect(charged(answer)).toBe(0);
    expect(charged(await ask(who))).toBe(PRICE);
  });

  it('is not sent in parts of another file', async () => {
    const who = await caller();
    const { etag } = (await ask(who)).headers;
    const range = 'bytes=0-3';
    expect((await ask(who, { range, 'if-range': String(etag) })).status).toBe(206);
    for (const other of ['"other"', `W/${etag}`, 'Wed, 21 Oct 2026 07:28:00 GMT'])
      expect((await ask(who, { range, 'if-range': other })).status).toBe(200);
  });

  it('tells its head and that it did not change for free, and only to a key', async () => {
    const who = await caller(0);
    const head = await ask(who, { range: 'bytes=0-3' }, FILE, 'HEAD');
    expect([head.status, head.bytes.length, charged(head)]).toEqual([200, 0, 0]);
    expect(head.headers['content-length']).toBe(String(bytes.length));
    const same = await ask(who, { 'if-none-match': String(head.headers.etag) });
    expect([same.status, same.bytes.length, charged(same)]).toEqual([304, 0, 0]);
    expect((await ask(who)).status).toBe(402);
    expect((await service.get(FILE, { method: 'HEAD' })).status).toBe(401);
    expect((await ask(who, {}, '/v1/files/none.such.parquet', 'HEAD')).status).toBe(404);
  });

  it('may not be exported where its licence says so, and does not exist where its indicator does not', async () => {
    const who = await caller(0);
    expect(codeOf(await ask(who, {}, '/v1/files/gamma.reserves.parquet'))).toBe('export_restricted');
    expect(codeOf(await ask(who, {}, '/v1/files/none.such.parquet'))).toBe('indicator_not_found');
    expect(codeOf(await ask(who, {}, '/v1/bundles/none.parquet'))).toBe('not_found');
  });

  it('is told its price, which a lease makes 0, and keeps to a limit', async () => {
    const who = await caller();
    const told = async () => (await ask(who, {}, `${FILE}?dry_run=true`)).json.data;
    expect(await told()).toEqual({ price: PRICE, rows: PRICE, balance_after: 10_000 - PRICE });
    const limited = await ask(who, {}, `${FILE}?max_credits=${PRICE - 1}`);
    expect([limited.status, codeOf(limited)]).toEqual([402, 'max_credits_exceeded']);
    expect(charged(await ask(who, {}, `${FILE}?max_credits=${PRICE}`))).toBe(PRICE);
    expect(await told()).toEqual({ price: 0, rows: PRICE, balance_after: 10_000 - PRICE });
    expect((await ask(who, {}, `${FILE}?max_credits=0`)).status).toBe(200);
  });
});

describe('a lease', () => {
  it('covers a file for a day', async () => {
    const who = await caller();
    expect(charged(await ask(who))).toBe(PRICE);
    expect(charged(await ask(who))).toBe(0);
    expect(charged(await ask(await caller()))).toBe(PRICE);
    const day = await service.client.pttl((await leasesOf(who))[0] ?? '');
    expect(day / 3_600_000).toBeCloseTo(24, 1);
  });

  it('covers 20 times the size, and then begins anew', async () => {
    const who = await caller();
    const half = `bytes=0-${Math.ceil(bytes.length / 2) - 1}`;
    const sums: number[] = [];
    for (let call = 0; call < 20; call += 1) sums.push(charged(await ask(who)));
    expect(sums).toEqual([PRICE, ...Array(19).fill(0)]);
    expect(charged(await ask(who, { range: half }))).toBe(PRICE);
    expect(charged(await ask(who, { range: half }))).toBe(0);
  });

  it('ends at once with the key and with the account', async () => {
    const who = await caller();
    await ask(who);
    await service.accounts.keys.revoke(who.key_id);
    expect(codeOf(await ask(who, { range: 'bytes=0-3' }))).toBe('invalid_key');
    const other = await caller();
    await ask(other);
    await service.accounts.suspend(other.account_id);
    expect(codeOf(await ask(other, { range: 'bytes=0-3' }))).toBe('invalid_key');
  });
});

const leasesOf = ({ account_id }: TestKey) => service.client.keys(`{a:${account_id}}:lease:*`);

test('a part of another priced answer is 416, free, after its parameters and before anything else', async () => {
  const who = await caller(0);
  const range = 'bytes=0-1';
  const part = await ask(who, { range }, '/v1/data?indicator=none.such');
  expect([part.status, codeOf(part)]).toEqual([416, 'range_not_satisfiable']);
  expect(part.json.error.message).toContain('/v1/files/{indicator_id}.parquet');
  expect((await ask(who, { range }, '/v1/data?indicator=none.such&from=x')).status).toBe(422);
  expect((await service.get('/v1/topics', { headers: { range } })).status).toBe(200);
});
