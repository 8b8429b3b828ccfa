/**
 * What people say is found: phrases in everyday words, each with the concept that it means, in two sets. One was written
 * from the names of the concepts before any synonym was. The other has an author who knew no synonym; it was measured
 * before synonyms were chosen with it (docs/agents.md). Neither is to be changed for the sake of the search.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithMirror } from '../../../mirror.ts';
import { buildMirror } from '../../../shared-builds.ts';
import { Service } from '../../service.ts';
import { call } from './mcp-client.ts';

const FIRST = 3;

type Phrase = [phrase: string, concept: string];

const readPhrases = (file: string): Phrase[] =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',') as Phrase);

/** Of each set, the part that has to be found. */
const AT_LEAST = 0.9;
const SETS = [
  { set: 'written first', phrases: readPhrases('phrases.csv') },
  { set: 'by another author', phrases: readPhrases('phrases-by-another-author.csv') },
];

/** Nothing of the kind is held: each must not be found as if it were. */
const UNHEARD_OF = [
  'unicorn sightings',
  'who won the world cup',
  'favourite colour',
  'price of a big mac',
  'average shoe size',
  'pokemon cards per person',
  'speed limit on motorways',
  'number of volcanoes',
];

describeWithMirror('find_indicators on the catalogue of the mirror', (mirror) => {
  let service: Service;
  beforeAll(async () => {
    const { snapshots } = await buildMirror(mirror);
    service = await Service.start({ snapshots });
  });
  afterAll(() => service?.stop());

  const find = async (query: string) =>
    (await call(service, 'find_indicators', { query, limit: FIRST })).structured;

  test.each(SETS)('finds the right concept among the first three: $set', async ({ phrases }) => {
    expect(phrases.length).toBeGreaterThanOrEqual(200);
    const missed: string[] = [];
    for (const [phrase, concept] of phrases) {
      const { indicators } = await find(phrase);
      if (!indicators.some((hit: { concept: string | null }) => hit.concept === concept))
        missed.push(`${phrase}: ${concept}`);
    }
    expect(missed.length / phrases.length, missed.join('; ')).toBeLessThanOrEqual(1 - AT_LEAST);
  });

  test('gives the preferred series of a concept first, once', async () => {
    for (const [phrase] of SETS.flatMap(({ phrases }) => phrases)) {
      const { indicators } = await find(phrase);
      const concepts = indicators.flatMap(({ concept }: { concept: string | null }) => concept ?? []);
      expect(new Set(concepts).size).toBe(concepts.length);
      for (const { concept, preferred, indicator, other_series } of indicators)
        if (concept !== null) expect(preferred || !other_series.includes(indicator)).toBe(true);
    }
  });

  test.each(UNHEARD_OF)('does not take what it has for “%s”', async (phrase) => {
    expect((await find(phrase)).match).not.toBe('good');
  });
});
