/** Fuzzes the public routes from the OpenAPI description: never a 500, internal detail or a wrong charge. */
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../gateway/api/operations/operations.ts';
import { EventLoopWatchdog, TURN_MAX_MS } from '../event-loop-watchdog.ts';
import { useService } from '../gateway/service.ts';
import { OPERATIONS as DESCRIBED } from './cases.ts';
import { expectValidRequestsAnswered, fuzzPublicRoutes } from './public-fuzz.ts';

const CREDITS = 1_000_000;
const MANY_SECONDS = 120_000;

const service = await useService();
const owner = await service.account({ credits: CREDITS });

test('the description has every operation, and the list of feed links', () => {
  expect(DESCRIBED.length).toBe(OPERATIONS.length + 1);
});

test(
  'any request gets an answer of the description and is charged what X-Credits-Charged says',
  async () => {
    const before = await service.balance(owner);
    using watchdog = new EventLoopWatchdog();
    const { statuses, charged } = await fuzzPublicRoutes(service, owner, { runs: 8_000 });
    expect(watchdog.longest_ms).toBeLessThan(TURN_MAX_MS);
    expect(before - (await service.balance(owner))).toBe(charged);
    // The cases must reach every kind of answer.
    for (const status of [200, 400, 401, 404, 422])
      expect(statuses.get(status), `${status}`).toBeGreaterThan(50);
  },
  MANY_SECONDS,
);

test(
  'a request that follows the description gets a 200',
  () => expectValidRequestsAnswered(service, owner, 1_000),
  MANY_SECONDS,
);
