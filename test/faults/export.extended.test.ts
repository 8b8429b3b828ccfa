/** The export part on a small scale: a ledger that does not fit into the heap. */
import { expect, test } from 'vitest';
import exportFaults from './export.ts';

test('a data export of a ledger larger than the heap is complete', async () => {
  const reported: [figure: string, ok: boolean][] = [];
  await exportFaults((_, figure, ok) => reported.push([figure, ok]), { entries: 200_000, heap_mb: 64 });
  expect(reported).toEqual([[expect.any(String), true]]);
});
