/** How the text of a number agrees with a figure. The expectations come from JavaScript's own number formatting. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readNumber } from '../../../../../gateway/api/operations/proofs/claims/claimed-number.ts';
import { fitOf } from '../../../../../gateway/api/operations/proofs/claims/judge.ts';

const agreement = (text: string, figure: number): string | null => {
  const claimed = readNumber(text);
  if (claimed === null) throw new Error(`${text} is not read`);
  return fitOf(claimed, figure);
};

// `claimed-number.test.ts` holds every figure of few decimals to its definition; these it does not draw.
test.each<[string, number, string | null]>([
  ['1e6', 1_000_000, 'exact'],
  ['0.1', 0.1, 'exact'],
  ['-0', 0, 'exact'],
  ['0', -0, 'exact'],
  ['1e-7', 1e-7, 'exact'],
  ['9007199254740992', 2 ** 53, 'exact'],
  // A half is rounded either way, in decimal digits: 2.675 is less in binary.
  ['2.68', 2.675, 'rounded'],
  ['2.67', 2.675, 'rounded'],
  // Zeros at the end of an integer may stand for rounding to two to seven digits.
  ['1300000', 1_349_999, 'rounded'],
  ['1300000', 1_350_001, null],
  ['1.30e6', 1_349_999, null],
  // More digits than a double can hold.
  ['9007199254740993', 2 ** 53, 'rounded'],
  ['9007199254740994', 2 ** 53, 'close'],
  ['0.1000000000000000055511151231257827', 0.1, 'rounded'],
  ['0.100000000000001', 0.1, 'close'],
  ['1e999', 1.7e308, null],
])('agreement of a text with a figure %s, of %d: %s', (text, figure, expected) =>
  expect(agreement(text, figure)).toBe(expected),
);

const figures = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ min: -1e9, max: 1e9, noNaN: true }),
  fc.integer().map((number) => number / 1000),
  fc.integer(),
  fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }).map(Number),
);

/** Digits and exponent of a decimal text, without zeros at either end. */
function canonical(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^([-+]?)(\d*)\.?(\d*)(?:e([-+]?\d+))?$/i.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign === '-' ? '-' : ''}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

const digitsSent = fc.oneof(
  figures.map(String),
  fc.tuple(figures, fc.integer({ min: 0, max: 20 })).map(([figure, digits]) => figure.toFixed(digits)),
  fc.tuple(figures, fc.integer({ min: 1, max: 25 })).map(([figure, digits]) => figure.toPrecision(digits)),
);

describe('of any figure', () => {
  test('a text is exact when it is the number that is served, and only then', () => {
    const pairs = fc.oneof(
      fc.tuple(figures, digitsSent),
      // Texts near the figure: its own with a digit changed, cut off or added.
      fc.tuple(figures, fc.nat(30), fc.constantFrom('0', '1', '5', '9', '')).map(([figure, at, digit]) => {
        const text = String(figure);
        return [figure, `${text.slice(0, at)}${digit}${text.slice(at + 1)}`] as [number, string];
      }),
    );
    let exact = 0;
    fc.assert(
      fc.property(pairs, ([figure, text]) => {
        if (readNumber(text) === null) return;
        const isSame = canonical(text) === canonical(String(figure));
        if (isSame) exact += 1;
        expect(agreement(text, figure) === 'exact').toBe(isSame);
      }),
      { numRuns: 5_000 },
    );
    expect(exact).toBeGreaterThan(100);
  });

  test('every usual rounding of it that leaves a digit is exact or rounded, or close where it is more than 10 % off', () => {
    const roundings = fc
      .tuple(figures, fc.integer({ min: 0, max: 20 }))
      .chain(([figure, digits]) =>
        fc
          .constantFrom(figure.toFixed(digits), figure.toPrecision(digits + 1), figure.toExponential(digits))
          .map((text) => [figure, text] as const),
      );
    const seen = new Set<string | null>();
    fc.assert(
      fc.property(roundings, ([figure, text]) => {
        // Not decided here: binary arithmetic at the bound, and where doubles have few digits or end.
        fc.pre(Number.isFinite(Number(text)) && (figure === 0 || Math.abs(figure) > 1e-300));
        const deviation = Math.abs(Number(text) / figure - 1);
        fc.pre(figure === 0 || Math.abs(deviation - 0.1) > 1e-9);
        const leavesDigit = figure === 0 || Number(text) !== 0;
        const fit = agreement(text, figure);
        seen.add(fit);
        if (!leavesDigit) expect(fit).toBeNull();
        else expect(figure === 0 || deviation < 0.1 ? ['exact', 'rounded'] : ['close']).toContain(fit);
      }),
      { numRuns: 5_000 },
    );
    expect(seen).toEqual(new Set(['exact', 'rounded', 'close', null]));
  });
});
