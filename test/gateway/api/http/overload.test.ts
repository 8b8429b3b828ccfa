/** More than can be answered: refused at once and for free, what is cached and health never; then all is as before. */
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { LoadShedder } from '../../../../gateway/api/http/server/overload.ts';
import { stopAfterTests } from '../../../after-tests.ts';
import { type Answer, codeOf, Service } from '../../service.ts';

const LIMITS = { sustained: 4, admitted: 2, burst: 8, patience_ms: 60_000, late_ms: 60_000, lag_ms: 60_000 };

const loadShedder = new LoadShedder(LIMITS, pino({ level: 'silent' }));
const service = await stopAfterTests(Service.start({ loadShedder }));
const owner = await service.account({ credits: 100 });
// The key is known from here on, so that each call waits for one answer of Redis.
await service.get('/v1/ping', { key: owner.key });

const flat = (): Promise<Answer> => service.get('/v1/countries/KEN', { key: owner.key });

test('refuses calls beyond the bound while earlier ones wait, and charges only the latter', async () => {
  const other = await service.redis.connect();
  // Scripts, which may write, wait until they are let go; that command itself may not wait.
  await other.call('CLIENT', 'PAUSE', '60000', 'WRITE');
  const waiting = Array.from({ length: LIMITS.burst }, flat);
  while (loadShedder.inFlight < LIMITS.burst) await pause(1);
  const refused = await Promise.all(Array.from({ length: 20 }, flat));
  expect(loadShedder.inFlight).toBe(LIMITS.burst);
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
  expect(await service.balance(owner)).toBe(100 - LIMITS.burst);
  // The line is empty again: the next one is taken.
  expect((await flat()).status).toBe(200);
  expect((await service.get('/readyz')).status).toBe(200);
});
