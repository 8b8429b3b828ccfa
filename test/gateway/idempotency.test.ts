/** `Idempotency-Key`: a retried call is paid once. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { useDirectory } from '../after-tests.ts';
import { INDICATORS } from './fixture-data.ts';
import { publishFixture } from './fixture-snapshot.ts';
import { KEYED_ROUTES } from './public-routes.ts';
import { codeOf, type TestKey, useService } from './service.ts';

let owner: TestKey;
const root = await useDirectory();
await publishFixture(root, {});
const service = await useService({ snapshots: root, settings: { SNAPSHOT_POLL_MS: '1000000' } });
beforeEach(async () => {
  owner = await service.account({ credits: 100 });
});

const DATA = '/v1/data?indicator=alpha.life_expectancy';
const ask = (path: string, idempotency: string, key = owner.key) =>
  service.get(path, { key, headers: { 'idempotency-key': idempotency } });
const asked = async (path: string, idempotency: string) => {
  const { status, headers } = await ask(path, idempotency);
  return [status, Number(headers['x-credits-charged']), headers['idempotent-replayed']];
};
/** What a lease covers is free without a key of this kind. */
const PRICED = KEYED_ROUTES.filter(({ price, isFile }) => price > 0 && !isFile);

test.each(PRICED)('$template is paid once, and repeated five times for nothing', async ({ path, price }) => {
  const first = await ask(path, 'one');
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  expect(first.headers['x-credits-charged']).toBe(String(price));
  for (let time = 0; time < 5; time += 1) {
    const repeat = await ask(path, 'one');
    expect([repeat.status, repeat.text]).toEqual([200, first.text]);
    expect([repeat.headers['x-credits-charged'], repeat.headers['idempotent-replayed']]).toEqual([
      '0',
      'true',
    ]);
  }
  expect(await service.balance(owner)).toBe(100 - price);
  expect(await asked(path, 'one')).toEqual([200, price, undefined]);
  expect(await asked(path, 'one')).toEqual([200, 0, 'true']);
});

test('fifty at once are paid as often as five repeats each allow', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => asked('/v1/countries/KEN', 'crowd')));
  expect(answers.every(([status]) => status === 200)).toBe(true);
  expect(await service.balance(owner)).toBe(100 - Math.ceil(50 / 6));
});

test('the same call under the other prefix is a repeat; any other is refused, free', async () => {
  await ask(DATA, 'k');
  expect(await asked(DATA.replace('/v1', '/data/api/v1'), 'k')).toEqual([200, 0, 'true']);
  for (const other of [`${DATA}&format=csv`, `${DATA}&token=1`, '/v1/countries/KEN']) {
    const answer = await ask(other, 'k');
    expect(answer.json.detail).toEqual([
      expect.objectContaining({ loc: ['header', 'idempotency-key'], type: 'idempotency_conflict' }),
    ]);
    expect(answer.headers['x-credits-charged']).toBe('0');
  }
  expect(await service.balance(owner)).toBe(91);
});

test('what is wrong with a call is said before its key is looked at, and does not use it up', async () => {
  const poor = await service.account({ credits: 0 });
  expect(codeOf(await ask(DATA, 'k', poor.key))).toBe('insufficient_credits');
  expect(codeOf(await ask('/v1/countries/ZZZ', 'k'))).toBe('country_not_found');
  expect(codeOf(await ask(`${DATA}&max_credits=1`, 'k'))).toBe('max_credits_exceeded');
  expect((await ask(`${DATA}&colour=red`, 'k')).status).toBe(422);
  expect(await asked(DATA, 'k')).toEqual([200, 9, undefined]);
  expect(codeOf(await ask('/v1/countries/ZZZ', 'k'))).toBe('country_not_found');
});

test.each(['', 'a b', 'x'.repeat(65), 'é', '"quoted"', 'a,b'])('%j is no key', async (key) => {
  for (const path of ['/v1/countries/KEN', '/v1/countries/KEN?dry_run=true']) {
    const answer = await ask(path, key);
    expect(answer.status, path).toBe(422);
    expect(answer.json.detail[0]).toMatchObject({
      loc: ['header', 'idempotency-key'],
      type: 'string_pattern_mismatch',
    });
  }
  expect(await asked('/v1/topics', key)).toEqual([200, 0, undefined]);
});

test('a dry run is no first call, and no repeat', async () => {
  expect(await asked(`${DATA}&dry_run=true`, 'k')).toEqual([200, 0, undefined]);
  expect(await asked(DATA, 'k')).toEqual([200, 9, undefined]);
  expect(await asked(`${DATA}&dry_run=true`, 'k')).toEqual([200, 0, undefined]);
});

test('keys belong to an account, and end after ten minutes', async () => {
  const other = await service.account();
  await ask(DATA, 'k');
  expect((await ask(DATA, 'k', other.key)).headers['x-credits-charged']).toBe('9');
  const left_ms = await service.client.pttl(redisKeys.repeatable(owner.account_id, 'k'));
  expect(left_ms).toBeGreaterThan(540_000);
  expect(left_ms).toBeLessThanOrEqual(600_000);
});

test('a call that failed after its charge is refunded, and its retry is a first call', async () => {
  const snapshot = service.snapshots.current();
  if (!snapshot) throw new Error('no snapshot');
  const broken = vi.spyOn(snapshot, 'receipt').mockRejectedValueOnce(new Error('broken'));
  const path = '/v1/receipts?indicator=alpha.life_expectancy&country=KEN&year=2020';
  expect(codeOf(await ask(path, 'k'))).toBe('internal_error');
  broken.mockRestore();
  expect(await service.balance(owner)).toBe(100);
  expect(await asked(path, 'k')).toEqual([200, 1, undefined]);
  expect(await service.balance(owner)).toBe(99);
});

describe('after another snapshot was published', () => {
  /** Of a revision and a proof only the edition is fixed: history and log go on. */
  const GOES_ON = ['/v1/revisions', '/v1/receipts'];

  test.each(PRICED.map((route, at) => ({ ...route, at })))(
    'a repeat of $template answers from the first one',
    async ({ path, template, at }) => {
      const before = await ask(path, 'before');
      const first = before.headers['x-snapshot'];
      const indicators = INDICATORS.map((one) => ({ ...one, name: `${one.name} of ${template}` }));
      const id = `20261121T02${10 + at}00Z-0000001${at}`;
      await publishFixture(root, { id, generatedAt: `2026-11-21T02:${10 + at}:00+00:00`, indicators });
      await service.snapshots.check();
      const repeat = await ask(path, 'before');
      expect([repeat.status, repeat.headers['x-snapshot']]).toEqual([200, first]);
      if (!GOES_ON.includes(template)) expect(repeat.text).toBe(before.text);
      expect([repeat.headers['x-credits-charged'], repeat.headers['idempotent-replayed']]).toEqual([
        '0',
        'true',
      ]);
      expect((await ask(path, 'after')).headers['x-snapshot']).toBe(id);
    },
  );
});
