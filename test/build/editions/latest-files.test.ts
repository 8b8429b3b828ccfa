/** Latest values are in parts of neighbours that stay while a provider grows. */
import { expect, test } from 'vitest';
import { latestParts } from '../../../build/editions/tables/summary-tables.ts';

const named = (ids: readonly string[]) =>
  ids.toSorted().map((id, number) => ({ id, number, providerId: id.slice(0, id.indexOf('.')) }));
const idsOf = (count: number, provider = 'atlas'): string[] =>
  Array.from({ length: count }, (_, at) => `${provider}.series_${at}`);

/** The ids of each part. */
const parts = (ids: readonly string[]): string[][] =>
  [...latestParts(named(ids)).values()].map((part) => part.map(({ id }) => id));

test('each indicator is in one part, and a part has a bounded share of them', () => {
  const ids = idsOf(2000).sort();
  const found = parts(ids);
  expect(found.flat()).toEqual(ids);
  expect(found.length).toBeGreaterThan(100);
  expect(Math.max(...found.map((part) => part.length))).toBeLessThan(100);
});

test.each([
  ['added', 1000],
  ['taken away', 998],
])('an indicator that is %s changes at most two parts', (_, count) => {
  const before = new Set(parts(idsOf(999)).map(String));
  const changed = parts(idsOf(count)).filter((part) => !before.has(String(part)));
  expect(changed.length).toBeLessThanOrEqual(2);
});

test('no part has indicators of two providers', () => {
  const files = latestParts(named([...idsOf(40), ...idsOf(40, 'census')]));
  expect([...files.keys()]).toContain('latest/census.0.parquet');
  for (const [file, part] of files)
    for (const { providerId } of part) expect(file).toContain(`/${providerId}.`);
});
