/** The archive part on a small scale: the functions of `npm run faults`, seconds instead of minutes. */
import { expect, test } from 'vitest';
import archiveFaults from './archive.ts';

/** A latency: only `npm run faults` on a quiet machine can judge it. */
const DEPENDS_ON_MACHINE = 'Paid calls do not wait for the archive';

test('archive runs keep memory flat and every entry exactly once', async () => {
  const reported: [promise: string, ok: boolean][] = [];
  const scale = { nights: 12, callsADay: 100, debits: 10_000, days: 6 };
  await archiveFaults((promise, figure, ok) => reported.push([`${promise}: ${figure}`, ok]), scale);
  const judged = reported.filter(([promise]) => !promise.startsWith(DEPENDS_ON_MACHINE));
  expect(judged.filter(([, ok]) => !ok)).toEqual([]);
  expect([reported, judged].map(({ length }) => length)).toEqual([5, 4]);
});
