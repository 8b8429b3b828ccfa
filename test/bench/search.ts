/**
 * Searches of series, each of a phrase that the process was never asked for: the labelled phrases and absent subjects of test/search,
 * and generated ones with place and year, with a letter missing, unfinished, and of two subjects.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { publishedNight } from './night.ts';
import { forkTask } from './processes.ts';
import { median, type Row, type Skipped } from './report.ts';
import type { SearchQuestion, SearchTimes } from './search-task.ts';
import type { Session } from './session.ts';

const AT_MOST_MS = 1;
/** Thirty times Gapminder. */
const MANY = { series: 14_340, atMost_ms: 3 };
/** How far apart in the list two phrases are of which a generated one has a half each. */
const APART = 97;

const readPhrases = (name: string): string[] =>
  parse<{ phrase: string }>(readFileSync(new URL(`../search/${name}-read.csv`, import.meta.url)), {
    columns: true,
  }).map(({ phrase }) => phrase);

function phrasesToFind(): string[] {
  const labelled = [...readPhrases('phrases'), ...readPhrases('absent')];
  const generated = labelled.flatMap((phrase, at) => {
    const middle = Math.ceil(phrase.length / 2);
    const other = labelled[(at + APART) % labelled.length] ?? '';
    return [
      `${phrase} in Kenya in ${1960 + (at % 60)}`,
      phrase.slice(0, middle) + phrase.slice(middle + 1),
      phrase.slice(0, -2),
      `${phrase.slice(0, middle)} ${other.slice(Math.ceil(other.length / 2))}`,
    ];
  });
  return [...new Set([...labelled, ...generated])];
}

async function searchTimes(question: SearchQuestion): Promise<SearchTimes> {
  await using task = forkTask(new URL('search-task.ts', import.meta.url));
  return await task.ask<SearchQuestion, SearchTimes>(question);
}

function rowsOf({ series, cpu_ms }: SearchTimes, bound: number): Row[] {
  const sorted = cpu_ms.toSorted((a, b) => a - b);
  const row = (what: string, value: number, goal?: Row['goal']): Row => ({
    name: `search of ${series.toLocaleString('en')} series, ${what}`,
    measured: { unit: 'ms', rounds: [value] },
    ...(goal && { goal }),
  });
  const mean = cpu_ms.reduce((sum, each) => sum + each, 0) / cpu_ms.length;
  return [
    row(`mean CPU time of ${cpu_ms.length.toLocaleString('en')}`, mean, { at: 'most', bound }),
    row('median', median(cpu_ms)),
    row('95th percentile', sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN),
    row('longest', sorted.at(-1) ?? Number.NaN),
  ];
}

export async function searchRows(session: Session): Promise<(Row | Skipped)[]> {
  const snapshots = await publishedNight(session);
  if (snapshots === undefined) return [{ name: 'search', skipped: 'no provider mirror' }];
  session.say('searches');
  const phrases = phrasesToFind();
  const all = await searchTimes({ snapshots, phrases });
  const many = await searchTimes({ snapshots, phrases, series: MANY.series });
  return [...rowsOf(all, AT_MOST_MS), ...rowsOf(many, MANY.atMost_ms)];
}
