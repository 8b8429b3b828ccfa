/** 10,000 generated calls: the price told before is the debit that follows. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { priceProperty } from './prices.ts';
import { Service } from './service.ts';

const CALLS = 10_000;

test('the price told is the price charged, and no limit is exceeded', async () => {
  const service = await Service.start();
  const owner = await service.account({ credits: 100_000_000 });
  const spent = async () => 100_000_000 - (await service.balance(owner));
  await fc.assert(
    priceProperty(service, () => owner),
    { numRuns: CALLS },
  );
  expect(await spent()).toBeGreaterThan(CALLS);
  await service.stop();
});
