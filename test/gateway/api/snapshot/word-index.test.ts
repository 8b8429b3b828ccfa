import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WordIndex } from '../../../../gateway/api/snapshot/search/word-index.ts';

const alphabet = fc.constantFrom('a', 'b', 'é', ' ', '\n', '\t', '.', '(');
const anyText = fc.array(alphabet, { maxLength: 20 }).map((letters) => letters.join(''));
const anyTokens = fc.array(
  fc
    .array(fc.constantFrom('a', 'b', 'é', '.', '('), { minLength: 1, maxLength: 6 })
    .map((letters) => letters.join('')),
  { minLength: 1, maxLength: 3 },
);

/** Where in which word of the texts a token is cut out, so that longer ones are found, too. */
const anyCut = fc.record({ word: fc.nat(200), from: fc.nat(12), length: fc.integer({ min: 1, max: 9 }) });

describe('the word index', () => {
  it('finds what a scan of every text finds', () => {
    fc.assert(
      fc.property(
        fc.array(anyText, { maxLength: 12 }),
        fc.array(anyTokens, { maxLength: 4 }),
        fc.array(fc.array(anyCut, { minLength: 1, maxLength: 2 }), { maxLength: 4 }),
        (texts, searches, cuts) => {
          const index = new WordIndex(texts);
          const words = texts.flatMap((text) => text.split(/\s+/u));
          const cutOut = cuts.map((cut) =>
            cut.flatMap(({ word, from, length }) => {
              const text = words[word % words.length] ?? '';
              return text.slice(from % (text.length || 1)).slice(0, length) || [];
            }),
          );
          for (const tokens of [...searches, ...cutOut].filter(({ length }) => length > 0)) {
            const holds = (text: string): boolean => tokens.every((token) => text.includes(token));
            expect(index.withAll(tokens)).toEqual(
              [...texts.keys()].filter((text) => holds(texts[text] ?? '')),
            );
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
