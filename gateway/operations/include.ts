/** `include`: properties that are added to indicator records on request. */
import { z } from 'zod';
import { ADDITION_WORDS, ADDITIONS, type AdditionWord } from '../../data/schema/additions.ts';
import { indicatorDetail, indicatorRecord } from '../../data/schema/records.ts';
import type { LoadedLists } from '../snapshot/added-lists.ts';
import { fail, text } from './parameters.ts';

const WORD = ADDITION_WORDS.join('|');

/** Distinct words in the order sent. */
export const includeWords = () =>
  text()
    .transform((sent, ctx): AdditionWord[] => {
      const words: AdditionWord[] = [];
      for (const [at, part] of sent.split(',').entries()) {
        const word = ADDITION_WORDS.find((candidate) => candidate === part.trim());
        if (word === undefined) {
          const expected = ADDITION_WORDS.map((candidate) => `'${candidate}'`).join(' or ');
          return fail(ctx, { type: 'literal_error', ctx: { expected }, input: part.trim(), at });
        }
        if (!words.includes(word)) words.push(word);
      }
      return words;
    })
    .describe(
      `Properties to add, separated by commas: ${ADDITION_WORDS.map((word) => `\`${word}\``).join(', ')}`,
    )
    .meta({ type: 'string', pattern: `^(${WORD})(,(${WORD}))*$` });

const includedProperties = z.object(ADDITIONS).partial().shape;
/** The records of an answer, with the properties that it may include. */
export const indicatorWithAdditions = indicatorRecord.extend(includedProperties);
export const detailWithAdditions = indicatorDetail.extend(includedProperties);

/** `include` as `meta` repeats it. */
export const includeEcho = { include: z.array(z.enum(ADDITION_WORDS)).optional() };

/** A record's JSON text with the properties added. */
export function addTo(json: string, id: string, words: readonly AdditionWord[], lists: LoadedLists): string {
  const added = words.map((word) => `,${JSON.stringify(word)}:${lists.json(word, id)}`);
  return `${json.slice(0, -1)}${added.join('')}}`;
}
