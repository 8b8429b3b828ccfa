/**
 * Searches that were never made before, in a process of its own: the CPU time of each, that of collecting garbage included. A larger
 * catalogue has the same series several times, each time as a series and concept of its own with another word in its name.
 */
import type { IndexedIndicator } from '../../data/schema/snapshot.ts';
import { findSeries } from '../../gateway/api/operations/operations.ts';
import { Catalogue, toEntry } from '../../gateway/api/snapshot/editions/catalogue.ts';
import { readCatalogue, showSnapshot } from '../shown-snapshot.ts';

export interface SearchQuestion {
  snapshots: string;
  /** How many there are to find; default: all that are published. */
  series?: number;
  phrases: readonly string[];
}

export interface SearchTimes {
  series: number;
  /** Of each phrase. */
  cpu_ms: number[];
}

const LIMIT = 10;
/** Searches before the measure. */
const FIRST_USES = 400;

function copyOf({ record, traits, ...rest }: IndexedIndicator, copy: number): IndexedIndicator {
  if (copy === 0) return { record, ...rest, ...(traits && { traits }) };
  const concept = traits?.concept ? `${traits.concept}-${copy}` : null;
  return {
    ...rest,
    record: { ...record, id: `${record.id}_${copy}`, name: `${record.name}, field ${copy}` },
    ...(traits && { traits: { ...traits, concept } }),
  };
}

async function measure({ snapshots, series, phrases }: SearchQuestion): Promise<SearchTimes> {
  const { generated_at, countries, indicators } = await readCatalogue(await showSnapshot(snapshots));
  const entries = Array.from({ length: series ?? indicators.length }, (_, at) => {
    const one = indicators[at % indicators.length];
    if (one === undefined) throw new Error('nothing is published');
    return toEntry(copyOf(one, Math.floor(at / indicators.length)));
  });
  const catalogue = new Catalogue(generated_at, countries, entries);
  const searched = { countriesByCode: catalogue.countriesByCode, wholeCatalogue: () => catalogue };
  const find = (phrase: string) => findSeries(searched, phrase, { limit: LIMIT, isTyping: true });
  for (const { record } of indicators.slice(0, FIRST_USES)) await find(record.name);
  const cpu_ms: number[] = [];
  for (const phrase of phrases) {
    const before = process.cpuUsage();
    await find(phrase);
    const { user, system } = process.cpuUsage(before);
    cpu_ms.push((user + system) / 1000);
  }
  return { series: entries.length, cpu_ms };
}

process.on('message', async (question: SearchQuestion) => process.send?.(await measure(question)));
process.on('disconnect', () => process.exit());
