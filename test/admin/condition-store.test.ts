/** What operators are told, over random histories of conditions seen by two gateways. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ConditionStore } from '../../admin/condition-watch.ts';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { Condition, OperatorAlert } from '../../gateway/commerce/notifications/alerts/operator-alert.ts';
import { flushRedis, useRedis } from '../redis.ts';

const redis = await useRedis();

const NAMES = ['held-run:who', 'held-run:fao', 'books:accounts', 'stale-provider:who'];
const KINDS = ['held-run', 'books', 'stale-provider'];
const kindOf = (name: string): string => name.split(':')[0] ?? '';
const look = fc.record({
  found: fc.subarray(NAMES),
  complete: fc.subarray(KINDS, { minLength: 1 }),
  /** It ends after the next look, as that of a process that was held up. */
  isLate: fc.boolean(),
});
const conditionOf = (condition: string, what: string): Condition => ({
  condition,
  severity: 'warning',
  what,
  since: null,
  url: 'http://127.0.0.1/',
});

type Look = typeof look extends fc.Arbitrary<infer One> ? One : never;

/** What operators should have been told, worked out from the looks alone. */
class Expected {
  readonly told = new Set<string>();
  readonly steps = new Map<string, string[]>();
  #newest = -1;

  note(index: number, { found, complete }: Look): { begun: string[]; ended: string[] } {
    if (index < this.#newest) return { begun: [], ended: [] };
    this.#newest = index;
    const begun = found.filter((name) => !this.told.has(name)).sort();
    const isOver = (name: string): boolean => !found.includes(name) && complete.includes(kindOf(name));
    const ended = [...this.told].filter(isOver).sort();
    for (const name of begun) this.#step(name, 'begin');
    for (const name of ended) this.#step(name, 'end');
    return { begun, ended };
  }

  #step(name: string, step: 'begin' | 'end'): void {
    if (step === 'begin') this.told.add(name);
    else this.told.delete(name);
    this.steps.set(name, [...(this.steps.get(name) ?? []), step]);
  }
}

/** The order in which looks end: one that is late ends after the next. */
function endingOrder(looks: readonly Look[]): number[] {
  const order = looks.map((_, index) => index);
  for (const [index, { isLate }] of looks.entries()) {
    const [here, next] = [order[index], order[index + 1]];
    if (isLate && here !== undefined && next !== undefined) order.splice(index, 2, next, here);
  }
  return order;
}

const namesOf = (list: Condition[]): string[] => list.map(({ condition }) => condition).sort();

async function readAlert(client: RedisClient, index: number) {
  const text = await client.hget(redisKeys.operatorOutbox, `operator.alert:alert${index}`);
  if (text === null) return { begun: [], ended: [] };
  const { data } = JSON.parse(text) as { data: OperatorAlert };
  const { begun, ended } = data;
  for (const { condition, what } of begun) expect(what).toBe(`${condition} "é" \\`);
  return { begun: namesOf(begun), ended: namesOf(ended) };
}

async function play(client: RedisClient, looks: readonly Look[]): Promise<void> {
  await flushRedis(client);
  const gateways = [new ConditionStore(client), new ConditionStore(client)] as const;
  const numbers: (number | null)[] = [];
  for (const [index] of looks.entries()) numbers[index] = await gateways[0].takeWatch('only', 60_000);
  const expected = new Expected();
  for (const index of endingOrder(looks)) {
    const seen = looks[index] ?? { found: [], complete: [], isLate: false };
    const found = seen.found.map((name) => conditionOf(name, `${name} "é" \\`));
    const noted = { id: `alert${index}`, at: '2026-11-23T12:00:00.000Z' };
    const store = gateways[index % 2 === 0 ? 0 : 1];
    await store.note(numbers[index] ?? 0, { found, complete: seen.complete }, noted);
    expect(await readAlert(client, index)).toEqual(expected.note(index, seen));
  }
  for (const [name, steps] of expected.steps) {
    expect(steps).toEqual(steps.map((_, index) => (index % 2 === 0 ? 'begin' : 'end')));
    expect(steps.length % 2 === 1).toBe(expected.told.has(name));
  }
  expect((await client.hkeys(redisKeys.alertConditions)).sort()).toEqual([...expected.told].sort());
}

it('alternate begin and end, and end in what is true', async () => {
  const client = await redis.connect();
  const histories = fc.array(look, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(histories, (looks) => play(client, looks)),
    { numRuns: 60 },
  );
});
