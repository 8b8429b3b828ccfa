/** Thousands of requests out of the description: never a 500, never our insides, never a wrong charge. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Service, type TestKey } from '../gateway/service.ts';
import { OPERATIONS } from './cases.ts';
import { fuzzPublicRoutes, soundRequestsSucceed } from './public-fuzz.ts';

const CREDITS = 1_000_000;
const MANY_SECONDS = 120_000;

let service: Service;
let owner: TestKey;
beforeAll(async () => {
  service = await Service.start();
  owner = await service.account({ credits: CREDITS });
});
afterAll(() => service.stop());

test('all eleven routes are in the description', () => {
  expect(OPERATIONS).toHaveLength(11);
});

test(
  'whatever is asked gets an answer of the description, and pays exactly what it says',
  async () => {
    const before = await service.balance(owner);
    const { statuses, charged } = await fuzzPublicRoutes(service, owner, { runs: 4_000 });
    expect(before - (await service.balance(owner))).toBe(charged);
    // The cases reach deep and shallow alike; otherwise they would prove little.
    for (const status of [200, 400, 401, 404, 422])
      expect(statuses.get(status), `${status}`).toBeGreaterThan(50);
  },
  MANY_SECONDS,
);

test(
  'what keeps to the description is answered',
  () => soundRequestsSucceed(service, owner, 1_000),
  MANY_SECONDS,
);
