/** When requests are turned away: a burst never, a line that does not get shorter at last. */
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { Pressure, type PressureLimits } from '../../../gateway/http/pressure.ts';

const LIMITS: PressureLimits = { standing: 10, let_in: 4, burst: 40, patience_ms: 500, lag_ms: 1_000 };

let now_ms: number;
let pressure: Pressure;
beforeEach(() => {
  now_ms = 5_000;
  pressure = new Pressure(LIMITS, pino({ level: 'silent' }), () => now_ms);
});

const enter = (times: number): void => {
  for (let time = 0; time < times; time++) pressure.enter();
};
const leave = (times: number): void => {
  for (let time = 0; time < times; time++) pressure.leave();
};

test('a burst is taken on whole, up to its bound', () => {
  enter(LIMITS.burst - 1);
  expect(pressure.refusesKeyed()).toBe(false);
  enter(1);
  expect(pressure.refusesKeyed()).toBe(true);
  expect(pressure.refusesAnonymous()).toBe(false);
});

test('while a line stands only some are let in at a time, until they are half as many', () => {
  enter(20);
  now_ms += LIMITS.patience_ms;
  expect(pressure.refusesKeyed()).toBe(false);
  now_ms += 1;
  expect(pressure.refusesKeyed()).toBe(true);
  leave(16);
  expect(pressure.underWay).toBe(LIMITS.let_in);
  expect(pressure.refusesKeyed()).toBe(true);
  leave(1);
  expect(pressure.refusesKeyed()).toBe(false);
  enter(1);
  expect(pressure.refusesKeyed()).toBe(true);
  leave(2);
  enter(LIMITS.burst - 3);
  expect(pressure.refusesKeyed()).toBe(false);
});

test('a line that gets short in between is no standing one', () => {
  for (let second = 0; second < 10; second++) {
    enter(20);
    now_ms += LIMITS.patience_ms - 1;
    expect(pressure.refusesKeyed()).toBe(false);
    leave(20);
    now_ms += 1;
  }
});

test('who sends no key is refused last', () => {
  enter(2 * LIMITS.burst - 1);
  now_ms += 10 * LIMITS.patience_ms;
  expect(pressure.refusesKeyed()).toBe(true);
  expect(pressure.refusesAnonymous()).toBe(false);
  enter(1);
  expect(pressure.refusesAnonymous()).toBe(true);
});

test('one pause of the event loop turns nobody away, lasting lag does', () => {
  pressure.lagged(8_000);
  expect(pressure.refusesAnonymous()).toBe(false);
  pressure.lagged(LIMITS.lag_ms + 1);
  expect(pressure.refusesAnonymous()).toBe(true);
  pressure.lagged(3);
  expect(pressure.refusesAnonymous()).toBe(false);
});
