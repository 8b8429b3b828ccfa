/** The load part on a small scale: promises that do not depend on how busy the machine is. */
import { expect, test } from 'vitest';
import { loadFaults } from './load.ts';

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
  'Load at 80 % of capacity: no call fails, and the slow ones do not get slower',
  'Load at 80 % of capacity: resident memory stays flat',
  'Load at 3 × capacity: what cannot be served is refused at once with 503 and Retry-After, and the service does not collapse',
  'After an overload all is as before within seconds',
];

test('load and connection attacks: exact charges, responses in order, no leaks', async () => {
  const findings = new Map<string, string>();
  await loadFaults((promise, figure, ok) => findings.set(promise, ok ? 'kept' : figure), SMALL);
  for (const promise of DEPEND_ON_MACHINE) expect(findings.delete(promise)).toBe(true);
  expect([...findings.values()]).toEqual(Array.from({ length: 8 }, () => 'kept'));
});
