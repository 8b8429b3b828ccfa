/**
 * Load shedding: bursts pass, sustained overload is refused. Over HTTP what is refused is refused at once and for free, what is
 * cached and health never; then all is as before.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { type LoadLimits, LoadShedder } from '../../../../gateway/api/http/server/overload.ts';
import { type Answer, codeOf, Service } from '../../service.ts';

const LIMITS: LoadLimits = {
  sustained: 10,
  admitted: 4,
  burst: 40,
  patience_ms: 500,
  late_ms: 20,
  lag_ms: 1_000,
};

let now_ms: number;
let shedder: LoadShedder;
beforeEach(() => {
  now_ms = 5_000;
  shedder = new LoadShedder(LIMITS, pino({ level: 'silent' }), () => now_ms);
});

const enter = (times: number): void => {
  for (let time = 0; time < times; time++) shedder.enter();
};
const leave = (times: number): void => {
  for (let time = 0; time < times; time++) shedder.leave();
};

test('admits a burst up to its bound', () => {
  enter(LIMITS.burst - 1);
  expect(shedder.shouldRefuseKeyed()).toBe(false);
  enter(1);
  expect(shedder.shouldRefuseKeyed()).toBe(true);
  expect(shedder.shouldRefuseAnonymous()).toBe(false);
});

/** More in flight than `sustained`, for longer than `patience_ms`. */
const overload = (): void => {
  enter(20);
  now_ms += LIMITS.patience_ms;
  expect(shedder.shouldRefuseKeyed()).toBe(false);
  now_ms += 1;
  expect(shedder.shouldRefuseKeyed()).toBe(true);
};

test('admits a few at a time under sustained overload, until none had to be refused for a while', () => {
  overload();
  leave(16);
  expect(shedder.inFlight).toBe(LIMITS.admitted);
  expect(shedder.shouldRefuseKeyed()).toBe(true);
  leave(4);
  for (let second = 0; second < 10; second++) {
    enter(3);
    expect(shedder.shouldRefuseKeyed()).toBe(false);
    enter(1);
    now_ms += LIMITS.patience_ms;
    expect(shedder.shouldRefuseKeyed()).toBe(true);
    leave(4);
  }
  now_ms += LIMITS.patience_ms;
  expect(shedder.shouldRefuseKeyed()).toBe(false);
  enter(4);
  expect(shedder.shouldRefuseKeyed()).toBe(true);
  leave(4);
  now_ms += LIMITS.patience_ms + 1;
  expect(shedder.shouldRefuseKeyed()).toBe(false);
  enter(LIMITS.burst - 1);
  expect(shedder.shouldRefuseKeyed()).toBe(false);
});

test('admits fewer while the event loop is late, but always some, then recovers', () => {
  const limits = { ...LIMITS, sustained: 100, admitted: 100, burst: 200 };
  shedder = new LoadShedder(limits, pino({ level: 'silent' }), () => now_ms);
  enter(101);
  now_ms += LIMITS.patience_ms + 1;
  expect(shedder.shouldRefuseKeyed()).toBe(true);
  leave(101);
  const admittedNow = (): number => {
    while (!shedder.shouldRefuseKeyed()) enter(1);
    const most = shedder.inFlight;
    leave(most);
    return most;
  };
  expect(admittedNow()).toBe(100);
  shedder.recordLag(limits.late_ms + 1);
  const fewer = admittedNow();
  expect(fewer).toBeLessThan(100);
  for (let look = 0; look < 50; look++) shedder.recordLag(limits.late_ms + 1);
  const fewest = admittedNow();
  expect(fewest).toBeLessThan(fewer);
  expect(fewest).toBeGreaterThan(1);
  for (let look = 0; look < 50; look++) shedder.recordLag(limits.late_ms);
  expect(admittedNow()).toBe(100);
});

test('does not count a queue that drains in between as sustained', () => {
  for (let second = 0; second < 10; second++) {
    enter(20);
    now_ms += LIMITS.patience_ms - 1;
    expect(shedder.shouldRefuseKeyed()).toBe(false);
    leave(20);
    now_ms += 1;
  }
});

test('refuses anonymous requests last', () => {
  enter(2 * LIMITS.burst - 1);
  now_ms += 10 * LIMITS.patience_ms;
  expect(shedder.shouldRefuseKeyed()).toBe(true);
  expect(shedder.shouldRefuseAnonymous()).toBe(false);
  enter(1);
  expect(shedder.shouldRefuseAnonymous()).toBe(true);
});

test('ignores a single pause of the event loop, but not lasting lag', () => {
  shedder.recordLag(8_000);
  expect(shedder.shouldRefuseAnonymous()).toBe(false);
  shedder.recordLag(LIMITS.lag_ms + 1);
  expect(shedder.shouldRefuseAnonymous()).toBe(true);
  shedder.recordLag(3);
  expect(shedder.shouldRefuseAnonymous()).toBe(false);
});

test('refuses calls beyond the bound while earlier ones wait, and charges only the latter', async () => {
  const limits = {
    ...LIMITS,
    sustained: 4,
    admitted: 2,
    burst: 8,
    patience_ms: 60_000,
    late_ms: 60_000,
    lag_ms: 60_000,
  };
  const loadShedder = new LoadShedder(limits, pino({ level: 'silent' }));
  await using service = await Service.start({ loadShedder });
  const owner = await service.account({ credits: 100 });
  const flat = (): Promise<Answer> => service.get('/v1/countries/KEN', { key: owner.key });
  // The key is known from here on, so that each call waits for one answer of Redis.
  await service.get('/v1/ping', { key: owner.key });
  const other = await service.redis.connect();
  // Scripts, which may write, wait until they are let go; that command itself may not wait.
  await other.call('CLIENT', 'PAUSE', '60000', 'WRITE');
  const waiting = Array.from({ length: limits.burst }, flat);
  while (loadShedder.inFlight < limits.burst) await pause(1);
  const refused = await Promise.all(Array.from({ length: 20 }, flat));
  expect(loadShedder.inFlight).toBe(limits.burst);
  for (const answer of refused) {
    expect(answer.status).toBe(503);
    expect(codeOf(answer)).toBe('unavailable');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers).not.toHaveProperty('x-credits-charged');
  }
  expect((await service.get('/healthz')).status).toBe(200);
  // Not refused for the load: it tells that writes wait.
  const { status, json } = await service.get('/readyz');
  expect({ status, json }).toMatchObject({ status: 503, json: { causes: ['Redis does not answer.'] } });
  const cached = service.get('/v1/topics');
  await other.call('CLIENT', 'UNPAUSE');
  const served = await Promise.all(waiting);
  expect((await cached).status).toBe(200);
  expect(served.map(({ status }) => status)).toEqual(served.map(() => 200));
  expect(await service.balance(owner)).toBe(100 - limits.burst);
  // The line is empty again: the next one is taken.
  expect((await flat()).status).toBe(200);
  expect((await service.get('/readyz')).status).toBe(200);
});
