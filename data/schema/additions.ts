/**
 * What `include` adds to an indicator record.
 *
 * A word is the name of a property, and of a folder of the snapshot: `<word>/<provider>.json` is an object with a list by
 * indicator id. An indicator without an entry has an empty list.
 */
import { z } from 'zod';
import { publicFinding } from './quality.ts';
import { indicatorSource, indicatorTwin } from './records.ts';

export const ADDITIONS = {
  sources: z.array(indicatorSource).describe('Who collected the figures, and the terms that follow from it'),
  quality: z
    .array(publicFinding)
    .describe('What the nightly build doubts in the figures or labels, and what was decided'),
  twins: z
    .array(indicatorTwin)
    .describe('Other series of the same statistic, the preferred one first, with the largest difference'),
} as const;
export type AdditionWord = keyof typeof ADDITIONS;
export const ADDITION_WORDS = Object.keys(ADDITIONS) as [AdditionWord, ...AdditionWord[]];

export const additionFile = (word: AdditionWord, provider: string): string => `${word}/${provider}.json`;

/** The lists by word, then by indicator id. */
export type Additions = {
  readonly [Word in AdditionWord]: ReadonlyMap<string, z.infer<(typeof ADDITIONS)[Word]>>;
};
