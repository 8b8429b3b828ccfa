/** The load part on a small scale: promises that do not depend on how busy the machine is. */
import { expect, test } from 'vitest';
import loadFaults from './load.ts';

const SMALL = {
  apart: false,
  entries: 1_000,
  capacity_ms: 700,
  trial_ms: 700,
  steady_s: 2,
  overload_s: 2,
  idle_connections: 500,
  drippers: 0,
};

/** Only `npm run faults` on a quiet machine can judge these. */
const DEPEND_ON_MACHINE = [
  'Load at 80 % of capacity: no call fails, and the tail latency does not grow',
  'Load at 80 % of capacity: resident memory stays flat',
  'Load at 3 × capacity: excess calls are refused at once with 503 and Retry-After, and throughput does not collapse',
  'The service recovers from an overload within seconds',
];

test('load and connection attacks: exact charges, responses in order, no leaks', async () => {
  const findings = new Map<string, string>();
  await loadFaults((promise, figure, ok) => findings.set(promise, ok ? 'kept' : figure), SMALL);
  for (const promise of DEPEND_ON_MACHINE) expect(findings.delete(promise)).toBe(true);
  expect([...findings.values()]).toEqual(Array.from({ length: 8 }, () => 'kept'));
});
