/** DuckDB with a time limit, on the real engine. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { QueryRunner, QueryTimeout } from '../../../../gateway/api/snapshot/rows/query-runner.ts';

/** Counts far longer than any limit here. */
const ENDLESS = 'SELECT count(*) FROM range(1000000000000) a(x) WHERE x % $k = 1';
const QUICK = 'SELECT $n::INTEGER AS n';

let queries: QueryRunner;
beforeEach(async () => {
  queries = await QueryRunner.open(200);
});
afterEach(() => queries.close());

/** With another time limit: a quick query may take long on a busy machine. */
async function reopen(limit_ms: number): Promise<void> {
  queries.close();
  queries = await QueryRunner.open(limit_ms);
}

const quick = async (n: number): Promise<unknown> => {
  const [chunk] = await queries.run(QUICK, { n });
  return chunk?.getColumnValues(0)[0];
};

test('values are bound by name', async () => {
  await reopen(60_000);
  expect(await quick(7)).toBe(7);
  expect(await quick(8)).toBe(8);
});

test('interrupts a query that times out', async () => {
  await expect(queries.run(ENDLESS, { k: 7n })).rejects.toBeInstanceOf(QueryTimeout);
});

test('reuses the connection of an interrupted query', async () => {
  await reopen(2_000);
  const slow = Array.from({ length: 4 }, () => queries.run(ENDLESS, { k: 7n }));
  for (const { status } of await Promise.allSettled(slow)) expect(status).toBe('rejected');
  expect(await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(quick))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
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

test('passes other failures on unchanged', async () => {
  await expect(
    queries.run('SELECT * FROM read_parquet($file)', { file: 'no/such.parquet' }),
  ).rejects.not.toBeInstanceOf(QueryTimeout);
});
