/** Keys that no longer work: refused before any work is done for them, and without Redis once they come in a flood. */
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { mintKeyText, parseKey } from '../../gateway/api/metering/keys.ts';
import { countCommands } from '../redis.ts';
import { call } from './api/mcp/mcp-client.ts';
import { codeOf, NOON, type TestKey, useService } from './service.ts';

/** Refusals within a second that Redis still confirms. */
const CONFIRMED = 20;
const FLOOD = 60;
const SECOND_MS = 1_000;
const CONTACT = 'help@almanac.example';
const SCRIPTS = ['evalsha', 'eval'];

const service = await useService({ settings: { CONTACT_EMAIL: CONTACT } });
beforeEach(() => {
  service.clock.ms = NOON;
});

const EXPIRY_MS = 500;

/** Every cause of refusal of a key that exists, and what makes it. */
const CAUSES: [string, (made: TestKey) => Promise<unknown>][] = [
  ['revoked', ({ key_id }) => service.accounts.keys.revoke(key_id)],
  ['expired', async () => (service.clock.ms += EXPIRY_MS)],
  ['of a suspended account', ({ account_id }) => service.accounts.suspend(account_id)],
  ['of a closed account', ({ account_id }) => service.accounts.close(account_id)],
];

const DATA = '/v1/data?indicator=alpha.life_expectancy';
const PATHS = [DATA, '/v1/rankings/alpha.life_expectancy', '/v1/countries/KEN?topic=health', '/v1/topics'];

/** Reads of observations so far, from memory or Parquet. */
function reads(): number {
  const { hits, misses } = service.snapshots.current()?.observations.counts ?? { hits: 0, misses: 0 };
  return hits + misses;
}

/** Refuses the same key `count` times. @returns how many scripts Redis ran meanwhile. */
const flood = (key: string, count: number): Promise<number> =>
  countCommands(service.client, SCRIPTS, async () => {
    for (let call = 0; call < count; call += 1)
      expect(codeOf(await service.get(DATA, { key }))).toBe('invalid_key');
  });

describe.each(CAUSES)('a key that is %s', (name, spoil) => {
  const open = () => service.account({ ...(name === 'expired' && { expires_at_ms: NOON + EXPIRY_MS }) });

  test('is refused without reading a row, when it is new to this process and when it is known', async () => {
    const strange = await open();
    const known = await open();
    expect((await service.get('/v1/ping', { key: known.key })).status).toBe(200);
    await spoil(strange);
    if (name !== 'expired') await spoil(known);
    // A key that worked a moment ago has one answer prepared before Redis is asked.
    expect(codeOf(await service.get('/v1/topics', { key: known.key }))).toBe('invalid_key');
    const before = reads();
    for (const path of PATHS)
      for (const { key } of [strange, known])
        expect(codeOf(await service.get(path, { key }))).toBe('invalid_key');
    expect(reads()).toBe(before);
  });

  test('asks Redis a bounded number of times a second', async () => {
    const made = await open();
    await spoil(made);
    const asked = await flood(made.key, FLOOD);
    expect(asked).toBeLessThanOrEqual(CONFIRMED);
    expect(await flood(made.key, FLOOD)).toBe(0);
    service.clock.ms += SECOND_MS;
    expect(await flood(made.key, FLOOD)).toBe(asked);
  });

  test('is neither counted nor charged', async () => {
    const made = await open();
    await spoil(made);
    await flood(made.key, FLOOD);
    expect(await service.balance(made)).toBe(1_000);
    expect((await service.metering.usage(made.account_id, 1)).totals.requests).toBe(0);
  });
});

test('a key restored within the second works at once, and after a flood when the second is over', async () => {
  const made = await service.account();
  const ping = async () => (await service.get('/v1/ping', { key: made.key })).status;
  await service.accounts.suspend(made.account_id);
  await flood(made.key, CONFIRMED - 1);
  await service.accounts.restore(made.account_id);
  expect(await ping()).toBe(200);
  await service.accounts.suspend(made.account_id);
  await flood(made.key, FLOOD);
  await service.accounts.restore(made.account_id);
  expect(await ping()).toBe(401);
  service.clock.ms += SECOND_MS;
  expect(await ping()).toBe(200);
});

test('a flood of one dead key leaves the other keys of its account alone', async () => {
  const made = await service.account();
  const other = await service.accounts.keys.mint(made.account_id);
  await service.accounts.keys.revoke(made.key_id);
  await flood(made.key, FLOOD);
  expect((await service.get(DATA, { key: other.key })).status).toBe(200);
});

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';

/** A well-formed key of that id with another secret. */
function guess(key_id: string): string {
  const id = Buffer.from([...key_id].map((character) => BASE32.indexOf(character)));
  const { key } = mintKeyText('live', (size) => (size === id.length ? id : randomBytes(size)));
  expect(parseKey(key)?.key_id).toBe(key_id);
  return key;
}

describe('a key of a suspended account', () => {
  const open = () => service.account();
  const said = async (key: string): Promise<string> => {
    const { status, json, headers } = await service.get(DATA, { key });
    expect([status, json.error.code]).toEqual([401, 'invalid_key']);
    expect(String(headers['www-authenticate'])).toContain('invalid_token');
    return json.error.message;
  };
  const TOLD = `account_suspended: the account of this key is suspended. Its holder can write to ${CONTACT}`;
  const SILENT = 'The API key is not valid.';

  test('is told so and where to write to, also in a flood and by the model interface', async () => {
    const made = await open();
    await service.accounts.suspend(made.account_id);
    for (let round = 0; round < FLOOD; round += 1) expect(await said(made.key)).toBe(TOLD);
    const answer = await call(service, 'get_data', { indicator: 'alpha.life_expectancy' }, { key: made });
    expect(answer.structured.error).toMatchObject({ code: 'invalid_key', message: TOLD });
    await service.accounts.restore(made.account_id);
    service.clock.ms += SECOND_MS;
    expect((await service.get(DATA, { key: made.key })).status).toBe(200);
    await service.accounts.close(made.account_id);
    expect(await said(made.key)).toBe(SILENT);
  });

  test('tells nothing to whoever has not its secret, or one that is revoked', async () => {
    const made = await open();
    const other = await service.accounts.keys.mint(made.account_id);
    await service.accounts.keys.revoke(other.key_id);
    await service.accounts.suspend(made.account_id);
    expect(await said(made.key)).toBe(TOLD);
    expect(await said(guess(made.key_id))).toBe(SILENT);
    expect(await said(other.key)).toBe(SILENT);
  });
});
