/** The spool groups rows by series, in memory or on disk, and removes its files. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { SeriesSpool } from '../../../build/connectors/series-spool.ts';

interface Row {
  n: number;
  text: string | null;
}

const place = mkdtempSync(join(tmpdir(), 'almanac-test-'));
afterAll(() => rmSync(place, { recursive: true }));

async function sorted(rows: [string, Row][], limit: number): Promise<Map<string, Row[]>> {
  const spool = new SeriesSpool<Row>(limit, place);
  try {
    for (const [key, row] of rows) {
      spool.add(key, row);
      await spool.spill();
    }
    const result = new Map<string, Row[]>();
    for (const key of spool.keys()) {
      const found: Row[] = [];
      for await (const batch of spool.read(key)) found.push(...batch);
      result.set(key, found);
    }
    return result;
  } finally {
    await spool.close();
  }
}

describe('SeriesSpool', () => {
  it('keeps the order within each series, spilled or not', async () => {
    const row = fc.record({ n: fc.integer(), text: fc.option(fc.string({ unit: 'grapheme' })) });
    const rows = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c d/é'), row), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 0, max: 70 }), async (given, limit) => {
        const expected = new Map<string, Row[]>();
        for (const [key, one] of given) expected.set(key, [...(expected.get(key) ?? []), one]);
        expect(await sorted(given, limit)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('can be read twice, yields nothing for unknown keys, and removes its files', async () => {
    expect(readdirSync(place)).toEqual([]);
    const spool = new SeriesSpool<number>(2, place);
    for (const n of [1, 2, 3, 4, 5]) spool.add('x', n);
    await spool.spill();
    spool.add('x', 6);
    expect(readdirSync(place)).toHaveLength(1);
    for (const _round of [1, 2]) {
      const found: number[] = [];
      for await (const batch of spool.read('x')) found.push(...batch);
      expect(found).toEqual([1, 2, 3, 4, 5, 6]);
    }
    for await (const _batch of spool.read('y')) throw new Error('y holds rows');
    await spool.close();
    expect(readdirSync(place)).toEqual([]);
  });
});
