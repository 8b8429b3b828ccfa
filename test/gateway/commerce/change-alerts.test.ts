/** Alerts about indicators that an edition changed: what is named, to whom, and how often. */

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ScriptRunner } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, dayOf, redisKeys } from '../../../data/schema/redis-keys.ts';
import type { EditionChanges } from '../../../data/schema/snapshot.ts';
import { readUsedIndicators, UsedIndicators } from '../../../gateway/api/metering/usage.ts';
import {
  CHANGE_KINDS,
  ChangeAlerts,
  type ChangedIndicator,
  REDEFINED,
  readToldKinds,
  setToldKinds,
} from '../../../gateway/commerce/notifications/alerts/change-alerts.ts';
import { Outbox } from '../../../gateway/commerce/notifications/outbox.ts';
import { cases } from '../../environment.ts';
import { flushRedis, useRedis } from '../../redis.ts';
import { createWorld, NOON_MS, UNLIMITED } from '../api/metering/harness.ts';
import { editionName, Served } from './served-editions.ts';

const redis = await useRedis();
const world = createWorld(await redis.connect(), UNLIMITED);

const IDS = ['a.one', 'a.two', 'a.three', 'b.four', 'b.five', 'b.six'];
const REF = { sha256: '0'.repeat(64), bytes: 1 };
const figures = fc.record({
  added: fc.nat(2),
  changed: fc.nat(2),
  withdrawn: fc.nat(1),
  restored: fc.nat(1),
  file: fc.constant(REF),
});
/** An edition: what it did to each indicator. */
const edition = fc.record({
  revised: fc.dictionary(fc.constantFrom(...IDS), figures),
  withdrawn: fc.subarray(IDS, { maxLength: 2 }),
  redefined: fc.dictionary(fc.constantFrom(...IDS), fc.subarray([...REDEFINED])),
  renamed: fc.subarray(IDS, { maxLength: 4 }),
  /** Of indicators that an earlier edition renamed, by their former id. */
  revisedSince: fc.dictionary(fc.constantFrom(...IDS), figures),
  revisedWithRename: fc.option(figures, { nil: undefined }),
  /** Days since the edition before it. */
  days: fc.integer({ min: 1, max: 15 }),
});
type Edition = typeof edition extends fc.Arbitrary<infer One> ? One : never;
/** What an account used so many days before the first edition. */
const usage = fc.array(fc.record({ ids: fc.subarray(IDS), daysBefore: fc.integer({ min: 0, max: 40 }) }), {
  minLength: 1,
  maxLength: 4,
});
const customer = fc.record({ usage, off: fc.subarray([...CHANGE_KINDS]) });

const FIRST_MS = NOON_MS;
/** @param former ids that an earlier edition renamed */
function changesOf(
  { revised, withdrawn, redefined, renamed, revisedSince, revisedWithRename }: Edition,
  former: ReadonlySet<string>,
): EditionChanges {
  const gone = withdrawn.filter((id) => !renamed.includes(id));
  const names = renamed.map((from) => ({ from, to: `${from}_new` }));
  const stayed = Object.entries(revised).filter(([id]) => !gone.includes(id) && !renamed.includes(id));
  const since = Object.entries(revisedSince).flatMap(([id, counts]) =>
    former.has(id) && !renamed.includes(id) ? [[`${id}_new`, counts] as const] : [],
  );
  const moved = revisedWithRename ? names.slice(0, 1).map(({ to }) => [to, revisedWithRename] as const) : [];
  return {
    added: [],
    withdrawn: gone,
    renamed: names,
    revised: Object.fromEntries([...stayed, ...since, ...moved]),
    redefined: Object.entries(redefined).map(([id, members]) => ({
      indicator: renamed.includes(id) || former.has(id) ? `${id}_new` : id,
      unit: null,
      name: null,
      definition: null,
      ...Object.fromEntries(members.map((member) => [member, { old: 'before', new: 'after' }])),
    })),
  };
}

/** The same by going through every indicator and every use, one question at a time. */
function expectedOf(
  { usage: uses, off }: { usage: { ids: string[]; daysBefore: number }[]; off: string[] },
  published_ms: number,
  { withdrawn, renamed, revised, redefined }: EditionChanges,
  former: ReadonlySet<string>,
): ChangedIndicator[] {
  const found: ChangedIndicator[] = [];
  const figuresOf = (id: string): number => {
    const { changed = 0, withdrawn: lost = 0, restored = 0 } = revised[id] ?? {};
    return changed + lost + restored;
  };
  const revise = (id: string, name: string): void => {
    const figures = figuresOf(name);
    if (figures > 0 && !off.includes('revised')) found.push({ indicator: id, change: 'revised', figures });
  };
  const redefine = (id: string, name: string): void => {
    const one = redefined.find(({ indicator }) => indicator === name);
    const members = REDEFINED.filter((member) => one !== undefined && one[member] !== null);
    if (members.length > 0 && !off.includes('redefined'))
      found.push({ indicator: id, change: 'redefined', redefined: members });
  };
  for (const indicator of IDS) {
    const daysAgo = uses.filter(({ ids }) => ids.includes(indicator)).map(({ daysBefore }) => daysBefore);
    const last = dayOf(FIRST_MS) - Math.min(...daysAgo);
    if (dayOf(published_ms) - last >= 30) continue;
    const to = renamed.find(({ from }) => from === indicator)?.to;
    for (const say of [revise, redefine]) {
      say(indicator, to ?? indicator);
      if (to === undefined && former.has(indicator)) say(`${indicator}_new`, `${indicator}_new`);
    }
    if (to !== undefined && !off.includes('renamed')) found.push({ indicator, change: 'renamed', to });
    if (withdrawn.includes(indicator) && !off.includes('withdrawn'))
      found.push({ indicator, change: 'withdrawn' });
  }
  return found;
}

const sorted = (list: readonly ChangedIndicator[]): ChangedIndicator[] =>
  [...list].sort((a, b) => (`${a.indicator} ${a.change}` < `${b.indicator} ${b.change}` ? -1 : 1));

/** An outbox that notes what is written, once for each account and edition, and fails after so many events. */
class Written extends Outbox {
  readonly told = new Map<string, ChangedIndicator[]>();
  stopsAfter = Number.POSITIVE_INFINITY;

  override async emit(account_id: string, _type: string, edition: string, data: unknown): Promise<void> {
    if (this.stopsAfter-- <= 0) throw new Error('the process ended');
    const { changed } = data as { changed: ChangedIndicator[] };
    const name = `${account_id} ${edition}`;
    const before = this.told.get(name);
    if (before) expect(sorted(changed)).toEqual(before);
    this.told.set(name, sorted(changed));
  }
}

const base = () => ({ redis: world.redis, now: () => world.clock.ms, random: randomBytes });

type Holder = typeof customer extends fc.Arbitrary<infer One> ? One : never;

/** An account with its uses and what it turned off. @returns its id */
async function open({ usage: uses, off }: Holder): Promise<string> {
  const { account_id } = await world.customer();
  const on = CHANGE_KINDS.filter((kind) => !off.includes(kind));
  await setToldKinds(world.redis, account_id, on);
  for (const { ids, daysBefore } of uses) {
    const used = new UsedIndicators(new ScriptRunner(world.redis));
    used.note(account_id, ids, FIRST_MS - daysBefore * DAY_MS);
    await used.flush();
  }
  return account_id;
}

class Play {
  readonly #served = new Served();
  readonly #gateways: readonly [ChangeAlerts, ChangeAlerts];
  readonly #written = new Written(base());
  readonly #expected = new Map<string, ChangedIndicator[]>();

  constructor() {
    const parts = { ...base(), served: this.#served, outbox: this.#written };
    this.#gateways = [new ChangeAlerts(parts), new ChangeAlerts(parts)];
  }

  /** The edition that is there when alerts begin. */
  async begin(): Promise<void> {
    const revised = { 'a.one': { added: 1, changed: 9, withdrawn: 0, restored: 0, file: REF } };
    this.#served.publish(FIRST_MS, { added: IDS, withdrawn: [], renamed: [], revised, redefined: [] });
    for (const gateway of this.#gateways) await gateway.findConcerned();
    expect(this.#written.told.size).toBe(0);
  }

  publish(holders: ReadonlyMap<string, Holder>, at_ms: number, one: Edition): void {
    const former = new Set(this.#served.ids.keys());
    const changes = changesOf(one, former);
    this.#served.publish(at_ms, changes);
    for (const { from, to } of changes.renamed) this.#served.ids.set(from, to);
    for (const [account_id, holder] of holders) {
      const named = sorted(expectedOf(holder, at_ms, changes, former));
      if (named.length > 0) this.#expected.set(`${account_id} ${editionName(at_ms)}`, named);
    }
  }

  /** Two gateways look, some end halfway. */
  async tell(stopsAfter: () => number): Promise<void> {
    const [one, other] = this.#gateways;
    for (const gateway of [one, other, one]) {
      this.#written.stopsAfter = stopsAfter();
      await gateway.findConcerned().catch(() => {});
    }
    this.#written.stopsAfter = Number.POSITIVE_INFINITY;
    await other.findConcerned();
  }

  async end(): Promise<void> {
    expect(this.#written.told).toEqual(this.#expected);
    this.#written.stopsAfter = 0;
    await this.#gateways[0].findConcerned();
  }
}

it('name exactly what was used and changed, once to each account and edition', async () => {
  const holders = fc.array(customer, { minLength: 1, maxLength: 3 });
  const editions = fc.array(edition, { minLength: 2, maxLength: 4 });
  const stops = fc.infiniteStream(fc.integer({ min: 1, max: 6 }));
  await fc.assert(
    fc.asyncProperty(holders, editions, stops, async (those, list, stop) => {
      await flushRedis(world.redis);
      const opened = new Map<string, Holder>();
      for (const holder of those) opened.set(await open(holder), holder);
      const play = new Play();
      await play.begin();
      let at_ms = FIRST_MS;
      for (const one of list) {
        at_ms += one.days * DAY_MS;
        play.publish(opened, at_ms, one);
        await play.tell(() => Number(stop.next().value));
      }
      await play.end();
    }),
    { numRuns: cases(60) },
  );
});

it('wait for a gateway that serves the edition, and come once however far another one is behind', async () => {
  await flushRedis(world.redis);
  const [ahead, behind] = [new Served(), new Served()];
  const nothing = { added: [], withdrawn: [], renamed: [], revised: {}, redefined: [] };
  const written = new Written(base());
  const gateways = [ahead, behind].map((served) => new ChangeAlerts({ ...base(), served, outbox: written }));
  const look = async (): Promise<void> => {
    for (const gateway of gateways.toReversed()) await gateway.findConcerned();
  };
  const account_id = await open({ usage: [{ ids: ['a.one'], daysBefore: 0 }], off: [] });
  for (const served of [ahead, behind]) served.publish(FIRST_MS, nothing);
  await look();
  await gateways[1]?.findConcerned();
  expect(written.told.size).toBe(0);
  ahead.publish(FIRST_MS + DAY_MS, { ...nothing, withdrawn: ['a.one'] });
  await look();
  const told = new Map([
    [`${account_id} ${editionName(FIRST_MS + DAY_MS)}`, [{ indicator: 'a.one', change: 'withdrawn' }]],
  ]);
  expect(written.told).toEqual(told);
  written.stopsAfter = 0;
  behind.publish(FIRST_MS + DAY_MS, { ...nothing, withdrawn: ['a.one'] });
  await look();
  expect(written.told).toEqual(told);
});

it('follow what calls used: admitted and answered ones alone', async () => {
  world.clock.ms = NOON_MS;
  const { account_id, call } = await world.customer();
  await call({ indicators: ['a.one', 'a.two'] });
  await call({ indicators: ['a.three'], status: 404 });
  await call({ indicators: ['b.four'], price: 1_000 });
  await call({ indicators: ['b.five'], peek: true });
  await call({});
  world.clock.ms += DAY_MS;
  await call({ indicators: ['a.two'] });
  await world.metering.flush();
  const name = redisKeys.usedIndicators(account_id);
  const day = String(dayOf(NOON_MS));
  await expect
    .poll(() => world.redis.zrange(name, '0', '-1', 'WITHSCORES'))
    .toEqual(['a.one', day, 'a.two', String(dayOf(NOON_MS) + 1)]);
  expect(await world.redis.pttl(name)).toBeGreaterThan(30 * DAY_MS);
  expect(await readUsedIndicators(world.redis, account_id, dayOf(NOON_MS) + 30)).toEqual(['a.two']);
  world.clock.ms += 31 * DAY_MS;
  await call({ indicators: ['b.six'] });
  await world.metering.flush();
  expect(await world.redis.zrange(name, '0', '-1')).toEqual(['b.six']);
});

it('keep at most 10,000 indicators of an account, and none of a closed one', async () => {
  const { account_id } = await world.customer();
  const used = new UsedIndicators(new ScriptRunner(world.redis));
  const many = (word: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${word}.${index}`);
  used.note(account_id, many('early', 6_000), NOON_MS);
  used.note(account_id, many('late', 9_000), NOON_MS + DAY_MS);
  await used.flush();
  const name = redisKeys.usedIndicators(account_id);
  await expect.poll(() => world.redis.zcard(name)).toBe(10_000);
  expect(await world.redis.zcount(name, dayOf(NOON_MS) + 1, '+inf')).toBe(9_000);
  await world.store.close(account_id);
  await world.redis.del(name);
  used.note(account_id, ['a.one'], NOON_MS + DAY_MS);
  await used.flush();
  expect(await world.redis.exists(name)).toBe(0);
});

it('are all on until one is turned off', async () => {
  const { account_id } = await world.customer();
  expect(await readToldKinds(world.redis, account_id)).toEqual([
    'revised',
    'redefined',
    'renamed',
    'withdrawn',
  ]);
  await setToldKinds(world.redis, account_id, ['renamed']);
  expect(await readToldKinds(world.redis, account_id)).toEqual(['renamed']);
  await setToldKinds(world.redis, account_id, [...CHANGE_KINDS]);
  expect(await world.redis.exists(redisKeys.changeAlerts(account_id))).toBe(0);
});
