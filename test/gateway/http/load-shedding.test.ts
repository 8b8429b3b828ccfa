/** When requests are turned away: a burst never, a line that does not get shorter at last. */
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { type LoadLimits, LoadShedder } from '../../../gateway/http/load-shedding.ts';

const LIMITS: LoadLimits = {
  standing: 10,
  let_in: 4,
  burst: 40,
  patience_ms: 500,
  late_ms: 20,
  lag_ms: 1_000,
};

let now_ms: number;
let pressure: LoadShedder;
beforeEach(() => {
  now_ms = 5_000;
  pressure = new LoadShedder(LIMITS, pino({ level: 'silent' }), () => now_ms);
});

const enter = (times: number): void => {
  for (let time = 0; time < times; time++) pressure.enter();
};
const leave = (times: number): void => {
  for (let time = 0; time < times; time++) pressure.leave();
};

test('a burst is taken on whole, up to its bound', () => {
  enter(LIMITS.burst - 1);
  expect(pressure.shouldRefuseKeyed()).toBe(false);
  enter(1);
  expect(pressure.shouldRefuseKeyed()).toBe(true);
  expect(pressure.shouldRefuseAnonymous()).toBe(false);
});

/** More under way than may be for long, and that for long. */
const stand = (): void => {
  enter(20);
  now_ms += LIMITS.patience_ms;
  expect(pressure.shouldRefuseKeyed()).toBe(false);
  now_ms += 1;
  expect(pressure.shouldRefuseKeyed()).toBe(true);
};

test('while a line stands only some are let in at a time, until nobody had to be refused for a while', () => {
  stand();
  leave(16);
  expect(pressure.underWay).toBe(LIMITS.let_in);
  expect(pressure.shouldRefuseKeyed()).toBe(true);
  leave(4);
  for (let second = 0; second < 10; second++) {
    enter(3);
    expect(pressure.shouldRefuseKeyed()).toBe(false);
    enter(1);
    now_ms += LIMITS.patience_ms;
    expect(pressure.shouldRefuseKeyed()).toBe(true);
    leave(4);
  }
  now_ms += LIMITS.patience_ms;
  expect(pressure.shouldRefuseKeyed()).toBe(false);
  enter(4);
  expect(pressure.shouldRefuseKeyed()).toBe(true);
  leave(4);
  now_ms += LIMITS.patience_ms + 1;
  expect(pressure.shouldRefuseKeyed()).toBe(false);
  enter(LIMITS.burst - 1);
  expect(pressure.shouldRefuseKeyed()).toBe(false);
});

test('while the event loop is late fewer are let in, but always some; then as many as before', () => {
  const limits = { ...LIMITS, standing: 100, let_in: 100, burst: 200 };
  pressure = new LoadShedder(limits, pino({ level: 'silent' }), () => now_ms);
  enter(101);
  now_ms += LIMITS.patience_ms + 1;
  expect(pressure.shouldRefuseKeyed()).toBe(true);
  leave(101);
  const letIn = (): number => {
    while (!pressure.shouldRefuseKeyed()) enter(1);
    const most = pressure.underWay;
    leave(most);
    return most;
  };
  expect(letIn()).toBe(100);
  pressure.lagged(limits.late_ms + 1);
  const fewer = letIn();
  expect(fewer).toBeLessThan(100);
  for (let look = 0; look < 50; look++) pressure.lagged(limits.late_ms + 1);
  const fewest = letIn();
  expect(fewest).toBeLessThan(fewer);
  expect(fewest).toBeGreaterThan(1);
  for (let look = 0; look < 50; look++) pressure.lagged(limits.late_ms);
  expect(letIn()).toBe(100);
});

test('a line that gets short in between is no standing one', () => {
  for (let second = 0; second < 10; second++) {
    enter(20);
    now_ms += LIMITS.patience_ms - 1;
    expect(pressure.shouldRefuseKeyed()).toBe(false);
    leave(20);
    now_ms += 1;
  }
});

test('who sends no key is refused last', () => {
  enter(2 * LIMITS.burst - 1);
  now_ms += 10 * LIMITS.patience_ms;
  expect(pressure.shouldRefuseKeyed()).toBe(true);
  expect(pressure.shouldRefuseAnonymous()).toBe(false);
  enter(1);
  expect(pressure.shouldRefuseAnonymous()).toBe(true);
});

test('one pause of the event loop turns nobody away, lasting lag does', () => {
  pressure.lagged(8_000);
  expect(pressure.shouldRefuseAnonymous()).toBe(false);
  pressure.lagged(LIMITS.lag_ms + 1);
  expect(pressure.shouldRefuseAnonymous()).toBe(true);
  pressure.lagged(3);
  expect(pressure.shouldRefuseAnonymous()).toBe(false);
});
