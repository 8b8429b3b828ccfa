import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WordIndex } from '../../../gateway/snapshot/word-index.ts';

const alphabet = fc.constantFrom('a', 'b', 'é', ' ', '\n', '\t', '.', '(');
const anyText = fc.array(alphabet, { maxLength: 20 }).map((letters) => letters.join(''));
const anyTokens = fc.array(
  fc
    .array(fc.constantFrom('a', 'b', 'é', '.', '('), { minLength: 1, maxLength: 6 })
    .map((letters) => letters.join('')),
  { maxLength: 3 },
);

describe('the index of words', () => {
  it('finds what searching every text finds', () => {
    fc.assert(
      fc.property(
        fc.array(anyText, { maxLength: 12 }),
        fc.array(anyTokens, { maxLength: 4 }),
        (texts, searches) => {
          const index = new WordIndex(texts);
          for (const tokens of searches) {
            const holds = (text: string): boolean => tokens.every((token) => text.includes(token));
            expect(index.holding(tokens)).toEqual(
              [...texts.keys()].filter((text) => holds(texts[text] ?? '')),
            );
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
