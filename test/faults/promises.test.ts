/** The parts of `npm run faults` on money and answers, small: the same functions, seconds instead of minutes. */
import { expect, test } from 'vitest';
import { clusterFaults } from './cluster.ts';
import { gatewayFaults } from './gateway.ts';
import type { Reporter } from './parts.ts';
import { redisFaults } from './redis.ts';
import { repliesFaults } from './replies.ts';

const LIMIT_MS = 90_000;

/** What a part found, as `kept` or the figure that tells what was broken. */
async function findingsOf(run: (report: Reporter) => Promise<void>): Promise<Record<string, string>> {
  const findings: Record<string, string> = {};
  await run((promise, figure, ok) => {
    findings[promise] = ok ? 'kept' : figure;
  });
  return findings;
}

const allKept = (count: number) => (findings: Record<string, string>) => {
  expect(new Set(Object.values(findings))).toEqual(new Set(['kept']));
  expect(Object.keys(findings)).toHaveLength(count);
};

test(
  'Redis killed: nothing acknowledged is missing or doubled, and the gateway recovers by itself',
  () =>
    findingsOf((report) => redisFaults(report, { calls: 400, kills: 2, otherKills: 1, costRounds: 0 })).then(
      allKept(11),
    ),
  LIMIT_MS,
);

test(
  'replies of Redis lost: nobody is charged twice, served unpaid or left without an answer',
  () =>
    findingsOf((report) =>
      repliesFaults(report, {
        duration_ms: 4_000,
        workers: 40,
        odds: { cut: 0.03, delay: 0.02, silence: 0.002 },
      }),
    ).then(allKept(3)),
  LIMIT_MS,
);

test(
  'the gateway killed, stopped and given other snapshots',
  () =>
    findingsOf((report) => gatewayFaults(report, { kills: 2, stops: 2, publications: 1 })).then(allKept(7)),
  LIMIT_MS,
);

test(
  'a master of a cluster killed: what waited for its replica stays',
  () =>
    findingsOf((report) => clusterFaults(report, { failovers: 1, careless: 0, costRounds: 0 })).then(
      allKept(3),
    ),
  LIMIT_MS,
);
