/** The faults of the archive, small: the same functions, seconds instead of minutes. */
import { expect, test } from 'vitest';
import { archiveFaults } from './archive.ts';

test('a few nights, a small day and a few kills: memory stays flat, and every entry is there once', async () => {
  const told: [promise: string, ok: boolean][] = [];
  const scale = { nights: 12, callsADay: 100, debits: 10_000, days: 6, kills: 4 };
  await archiveFaults((promise, figure, ok) => told.push([`${promise}: ${figure}`, ok]), scale);
  expect(told.filter(([, ok]) => !ok)).toEqual([]);
  expect(told).toHaveLength(6);
});
