/** DuckDB with a time limit, on the real engine. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { QueryRunner, QueryTimeout } from '../../../../gateway/api/snapshot/rows/query-runner.ts';

/** Counts far longer than any limit here. */
const ENDLESS = 'SELECT count(*) FROM range(1000000000000) a(x) WHERE x % $k = 1';

let queries: QueryRunner;
beforeEach(async () => {
  queries = await QueryRunner.open(200);
});
afterEach(() => queries.close());

test('interrupts a query that times out', async () => {
  await expect(queries.run(ENDLESS, { k: 7n })).rejects.toBeInstanceOf(QueryTimeout);
});

test('the timeout covers waiting for a connection', async () => {
  const slow = Array.from({ length: 8 }, () => queries.run(ENDLESS, { k: 7n }));
  const settled = await Promise.allSettled(slow);
  for (const outcome of settled) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(QueryTimeout) });
  }
});

test('a timeout that expires before the engine starts still ends the query', async () => {
  const hasty = await QueryRunner.open(1);
  for (let time = 0; time < 20; time += 1) {
    const slow = Array.from({ length: 4 }, () => hasty.run(ENDLESS, { k: 7n }));
    for (const { status } of await Promise.allSettled(slow)) expect(status).toBe('rejected');
  }
  hasty.close();
});
