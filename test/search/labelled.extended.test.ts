/** What `docs/search.md` says of the labelled phrases, on the catalogue of the mirror. */

import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { findSeries } from '../../gateway/api/operations/operations.ts';
import type { Edition } from '../../gateway/api/snapshot/snapshot.ts';
import { openSnapshots } from '../gateway/open-snapshots.ts';
import { describeWithMirror } from '../mirror.ts';
import { buildMirror } from '../shared-builds.ts';

const FIRST = 3;

const readLines = (file: string): string[] =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .trim()
    .split(/\r?\n/)
    .slice(1);

interface Labelled {
  phrase: string;
  /** Ids of the series that are right. */
  series: string[];
}

/** Phrases hold commas where they are quoted; ids never. */
function readLabelled(line: string): Labelled {
  const at = line.lastIndexOf(',');
  return { phrase: unquote(line.slice(0, at)), series: line.slice(at + 1).split(' ') };
}

const unquote = (text: string): string =>
  text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text;

describeWithMirror('the labelled phrases', (mirror) => {
  let edition: Edition;
  beforeAll(async () => {
    const { snapshots } = await buildMirror(mirror);
    const store = await openSnapshots(snapshots);
    const current = store.current();
    if (current === null) throw new Error('nothing is published');
    edition = current;
    return () => store.close();
  });

  const find = async (phrase: string) => (await findSeries(edition, phrase, { limit: FIRST })).hits;

  test.each(['read', 'unread'])(
    'are found, and only what was asked for is called good: %s half',
    async (half) => {
      const phrases = readLines(`phrases-${half}.csv`).map(readLabelled);
      expect(phrases.length).toBeGreaterThanOrEqual(200);
      const count = { first: 0, three: 0, good: 0, goodRight: 0 };
      const missed: string[] = [];
      for (const { phrase, series } of phrases) {
        const hits = await find(phrase);
        const isRight = hits.map(({ record, twins }) =>
          [record, ...twins].some(({ id }) => series.includes(id)),
        );
        count.first += Number(isRight[0] ?? false);
        count.three += Number(isRight.includes(true));
        if (hits[0]?.match === 'good') {
          count.good += 1;
          count.goodRight += Number(isRight[0]);
        }
        if (!isRight[0]) missed.push(`${phrase}: ${hits[0]?.record.id}`);
      }
      expect(count.three / phrases.length, missed.join('; ')).toBeGreaterThanOrEqual(0.9);
      expect(count.first / phrases.length, missed.join('; ')).toBeGreaterThanOrEqual(0.8);
      expect(count.goodRight / count.good, missed.join('; ')).toBeGreaterThanOrEqual(0.95);
    },
  );

  test.each(['read', 'unread'])('of absent subjects nearly none is called good: %s half', async (half) => {
    const subjects = readLines(`absent-${half}.csv`).map(unquote);
    expect(subjects.length).toBeGreaterThanOrEqual(300);
    const good: string[] = [];
    for (const subject of subjects) if ((await find(subject))[0]?.match === 'good') good.push(subject);
    expect(good.length / subjects.length, good.join('; ')).toBeLessThanOrEqual(0.02);
  });
});
