/** A text that came before is known to have come; one that never came, hardly ever. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RecencyFilter } from '../../gateway/http/recency-filter.ts';

const SIZE = 4_096;

test('who comes again comes again, whoever else comes in turn', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ maxLength: 40 }), { maxLength: 64 }), (texts) => {
      const seen = new RecencyFilter(SIZE);
      for (const text of texts) seen.meet(text);
      expect(texts.map((text) => seen.meet(text))).toEqual(texts.map(() => true));
    }),
  );
});

test('of many that come once, hardly any is taken for another, and what they leave behind is bounded', () => {
  const seen = new RecencyFilter(SIZE);
  let mistakes = 0;
  for (let one = 0; one < 50 * SIZE; one++) if (seen.meet(`/v1/indicators?q=${one}`)) mistakes++;
  expect(mistakes).toBeLessThan(10);
  expect(seen.meet('/v1/indicators?q=0')).toBe(false);
});
