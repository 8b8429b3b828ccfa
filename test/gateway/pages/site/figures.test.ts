/** Figures as people read them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { figureHtml, figureText } from '../../../../gateway/pages/site/figures.ts';

test('have four digits, and names for large numbers', () => {
  const read = [34_049_588, 12_345.4, 77.9333, 0.032149, -5.5, 1.5e13, 5e-324, 0].map(figureText);
  expect(read.slice(0, 6)).toEqual(['34.05 million', '12,345', '77.93', '0.03215', '-5.5', '15 trillion']);
  expect(read.at(-1)).toBe('0');
  expect(figureText(null)).toBe('–');
});

test('below a thousand are rounded as the formatter of the language does', () => {
  const formatter = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 });
  fc.assert(
    fc.property(fc.double({ min: -999, max: 999, noNaN: true }), (value) => {
      expect(figureText(value)).toBe(formatter.format(value));
    }),
  );
});

test('stand beside their exact value', () => {
  expect(figureHtml(0.1 + 0.2)).toBe('<data value="0.30000000000000004">0.3</data>');
});
