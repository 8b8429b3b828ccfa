/** The parts of `npm run faults` about money and responses on a small scale: the same functions in seconds. */
import { expect, test } from 'vitest';
import { documentationText } from '../style/documentation.ts';
import clusterFaults from './cluster.ts';
import damageFaults from './damage.ts';
import gatewayFaults from './gateway.ts';
import readinessFaults from './readiness.ts';
import redisFaults from './redis.ts';
import refusedKeysFaults from './refused-keys.ts';
import repliesFaults from './replies.ts';
import signInFaults from './sign-in.ts';
import type { Reporter } from './table.ts';

const DOCUMENTATION = documentationText();

/** Runs a part. It must report `count` promises; each must be kept and documented. */
async function holds(count: number, run: (report: Reporter) => Promise<void>): Promise<void> {
  const broken: string[] = [];
  const figures: string[] = [];
  await run((promise, figure, ok) => {
    figures.push(figure);
    if (!ok) broken.push(`${promise}: ${figure}`);
    if (!DOCUMENTATION.includes(`| ${promise} |`)) broken.push(`${promise}: not documented`);
  });
  // On failure, all figures help to see what happened.
  expect(broken, figures.join('; ')).toEqual([]);
  expect(figures).toHaveLength(count);
}

test('Redis killed: no acknowledged change is lost or doubled, and the gateway recovers by itself', () =>
  holds(11, (report) => redisFaults(report, { calls: 400, kills: 2, otherKills: 1 })));

test('Redis replies lost: no caller is charged twice, served unpaid or left without a response', () => {
  const odds = { cut: 0.03, delay: 0.02, silence: 0.002 };
  return holds(3, (report) => repliesFaults(report, { duration_ms: 4_000, workers: 40, odds }));
});

test('gateway killed, stopped and given other snapshots: charges and responses stay correct', () =>
  holds(7, (report) => gatewayFaults(report, { kills: 2, stops: 2, publications: 1, workers: 16 })));

test('a bit flipped in every published file: no wrong answer, and no charge for one', () =>
  holds(3, (report) => damageFaults(report, { starts: 2 })));

test('snapshot directory removed, Redis full: calls are refused free of charge, and /readyz tells the cause', () =>
  holds(4, (report) => readinessFaults(report, { rounds: 2, workers: 8 })));

test('a flood of calls with keys that no longer work costs less than paid calls and causes no query', () =>
  holds(2, (report) => refusedKeysFaults(report, { duration_ms: 1_500 })));

test('cluster master killed: writes that waited for the replica survive', () =>
  holds(3, (report) => clusterFaults(report, { failovers: 1, withoutWaiting: 0 })));

test('floods of resets and guesses: account holders and operators sign in meanwhile', () =>
  holds(2, (report) => signInFaults(report, { rounds: 2 })));
