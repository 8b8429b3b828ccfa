import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WordIndex } from '../../../gateway/snapshot/word-index.ts';

const alphabet = fc.constantFrom('a', 'b', 'é', ' ', '\n', '\t', '.', '(');
const anyText = fc.array(alphabet, { maxLength: 20 }).map((letters) => letters.join(''));
const anyTokens = fc.array(
  fc
    .array(fc.constantFrom('a', 'b', 'é', '.', '('), { minLength: 1, maxLength: 4 })
    .map((letters) => letters.join('')),
  { maxLength: 3 },
);

describe('the index of words', () => {
  it('finds what searching every text finds', () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 12 }), anyTokens, (texts, tokens) => {
        const brute = texts.map((text) => (tokens.every((token) => text.includes(token)) ? 1 : 0));
        expect([...new WordIndex(texts).holding(tokens)]).toEqual(brute);
      }),
      { numRuns: 500 },
    );
  });
});
