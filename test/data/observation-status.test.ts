/** The words for what a source says of a figure. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeStatus, isForecastStatus, STATUS_WORDS } from '../../data/schema/records.ts';

/** Nothing but codes of a normal value, however many. */
const saysNothing = (given: string): boolean =>
  given.split(/[,;|+]/).every((code) => /^(a|normal( value)?|_u)?$/i.test(code.trim()));

describe('a status', () => {
  it.each([
    ['', null],
    ['A', null],
    ['Normal value', null],
    ['_U', null],
    ['E', 'estimated'],
    ['Estimate', 'estimated'],
    ['p', 'provisional'],
    ['I', 'imputed'],
    ['B', 'break'],
    ['Time series break', 'break'],
    ['O', 'missing'],
    ['PR', 'projection'],
    ['BEP', 'break, estimated, provisional'],
    ['ef', 'estimated, forecast'],
    ['B;E', 'break, estimated'],
    ['A, B', 'break'],
    ['H|M', 'missing'],
    ['LT', 'less than'],
    // Not in the list: kept as upstream writes it.
    ['7', '7'],
    ['F7', 'f7'],
    ['Model  based', 'model based'],
    ['model', 'model'],
    ['void', 'void'],
  ])('%j means %j', (code, words) => {
    expect(describeStatus(code)).toBe(words);
  });

  it('loses no text, and stays what it is when it is described again', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('a', 'B', 'E', 'estimated', 'x'), (text, word) => {
        for (const given of [text, word, `${word}, ${text}`]) {
          const described = describeStatus(given);
          expect(describeStatus(described)).toBe(described);
          if (!saysNothing(given)) expect(described).not.toBeNull();
        }
      }),
    );
    for (const word of STATUS_WORDS) expect(describeStatus(word)).toBe(word);
  });

  it.each([
    ['forecast', true],
    ['projection', true],
    ['break, predicted', true],
    ['estimated', false],
    ['not forecast', false],
    [null, false],
  ])('%j marks a projection: %j', (status, isForecast) => {
    expect(isForecastStatus(status)).toBe(isForecast);
  });
});
