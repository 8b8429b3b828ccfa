/** The parts of `npm run faults` on money and answers, small: the same functions, seconds instead of minutes. */
import { expect, test } from 'vitest';
import { documentationText } from '../style/documentation.ts';
import { clusterFaults } from './cluster.ts';
import { gatewayFaults } from './gateway.ts';
import { redisFaults } from './redis.ts';
import { repliesFaults } from './replies.ts';
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
  // The figures of promises that were kept tell what was done to the others.
  expect(broken, figures.join('; ')).toEqual([]);
  expect(figures).toHaveLength(count);
}

test('Redis killed: nothing acknowledged is missing or doubled, and the gateway recovers by itself', () =>
  holds(11, (report) => redisFaults(report, { calls: 400, kills: 2, otherKills: 1, costRounds: 0 })));

test('replies of Redis lost: nobody is charged twice, served unpaid or left without an answer', () => {
  const odds = { cut: 0.03, delay: 0.02, silence: 0.002 };
  return holds(3, (report) => repliesFaults(report, { duration_ms: 4_000, workers: 40, odds }));
});

test('the gateway killed, stopped and given other snapshots', () =>
  holds(7, (report) => gatewayFaults(report, { kills: 2, stops: 2, publications: 1, workers: 16 })));

test('a master of a cluster killed: what waited for its replica stays', () =>
  holds(3, (report) => clusterFaults(report, { failovers: 1, careless: 0, costRounds: 0 })));
