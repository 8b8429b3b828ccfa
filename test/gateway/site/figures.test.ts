/** Figures as people read them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnDecimals, figureHtml, figureText, nameWithUnit } from '../../../gateway/site/figures.ts';
import { splitLead } from '../../../gateway/site/lists.ts';

test('have four digits, and names for large numbers', () => {
  const read = [34_049_588, 12_345.4, 77.9333, 0.032149, -5.5, 1.5e13, 5e-324, 0].map((value) =>
    figureText(value),
  );
  expect(read.slice(0, 6)).toEqual(['34.05 million', '12,345', '77.93', '0.03215', '-5.5', '15 trillion']);
  expect([999_999.5, 999_950_000, -1_234_500].map((value) => figureText(value))).toEqual([
    '1,000,000',
    '1,000 million',
    '-1.235 million',
  ]);
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

test('have a unit beside a name that does not say it', () => {
  const said = (name: string, unit: string): boolean => nameWithUnit(name, unit) === name;
  expect(said('Median age (years)', 'years')).toBe(true);
  expect(said('Population, Total (Persons)', 'persons')).toBe(true);
  expect(said('Unemployment, % of labour force', 'percent of labour force')).toBe(true);
  expect(said('Internet users (percent)', '%')).toBe(true);
  expect(said('Wheat output', 't')).toBe(false);
  expect(said('Life expectancy', 'years')).toBe(false);
});

test('stand beside their exact value', () => {
  expect(figureHtml(0.1 + 0.2)).toBe('<data value="0.30000000000000004">0.3</data>');
});

describe('the figures of a column', () => {
  const column = (values: readonly number[]): string[] =>
    values.map((value) => figureText(value, columnDecimals(values)));

  test('have as many digits after the point as the largest needs, so that points stand below each other', () => {
    expect(column([86.37, 84.6, 72, 0])).toEqual(['86.37', '84.60', '72.00', '0.00']);
    expect(column([0.967, 0.95, 0.9])).toEqual(['0.967', '0.950', '0.900']);
    expect(column([-5.25, 3])).toEqual(['-5.25', '3.00']);
    expect(column([12, 3, 250])).toEqual(['12', '3', '250']);
  });

  test('keep the digits that they have alone', () => {
    expect(column([85.23, 0.032149])).toEqual(['85.23', '0.03215']);
    expect(column([12_345, 85.25, 7])).toEqual(['12,345', '85.25', '7']);
    fc.assert(
      fc.property(fc.array(fc.double({ noNaN: true, min: -1e13, max: 1e13 })), (values) => {
        const numbers = (texts: string[]) => texts.map((text) => Number.parseFloat(text.replaceAll(',', '')));
        expect(numbers(column(values))).toEqual(numbers(values.map((value) => figureText(value))));
      }),
    );
  });
});

test('a long description is folded behind its first sentences, and nothing of it is lost', () => {
  const sentence = fc
    .array(fc.constantFrom('share', 'of', 'people', 'e.g.', '(2.5 %)', 'U.S.', 'Åland', 'aged', '15+'), {
      minLength: 1,
      maxLength: 60,
    })
    .map((words) => `The ${words.join(' ')} ends.`);
  fc.assert(
    fc.property(fc.array(sentence, { maxLength: 8 }), (sentences) => {
      const text = sentences.join(' ');
      const { first, rest } = splitLead(text);
      expect(first.length).toBeLessThanOrEqual(282);
      expect(rest === text || [first, rest].filter((part) => part !== '').join(' ') === text).toBe(true);
      expect(rest === '').toBe(text.length <= 280);
      if (rest !== '' && rest !== text) expect(first).toMatch(/\w[.!?]$/);
    }),
  );
  const [one, two] = ['People without work who look for it.', 'x'.repeat(270)];
  expect(splitLead(`${one} Of them, ${two}.`)).toEqual({ first: one, rest: `Of them, ${two}.` });
});
