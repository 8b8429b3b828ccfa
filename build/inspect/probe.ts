/** Reads an unknown upstream once with a guessed connector, and counts what it holds. Nothing is stored. */
import type { ConnectorContext, SourceItem } from '../connectors/connector.ts';
import { findConnector } from '../connectors/registry.ts';
import type { SourceGuess } from './guess-source.ts';

export interface Probe {
  /** Series that were read, in order. */
  series: { slug: string; name: string; unit: string | null }[];
  failed: { slug: string; reason: string }[];
  rows: number;
  /** Rows by place, as upstream writes it; groups that upstream marks are left out. */
  places: Map<string, number>;
  /** First and last year; null when no year could be read. */
  years: [number, number] | null;
  licences: Set<string>;
  sources: Set<string>;
  /** Why the upstream could not be read; null when it could. */
  problem: string | null;
}

type Context = Omit<ConnectorContext<unknown>, 'settings'>;

/** Never throws for what upstream holds: the problem is part of the result. */
export async function probe(guess: SourceGuess, context: Context): Promise<Probe> {
  const found: Probe = {
    series: [],
    failed: [],
    rows: 0,
    places: new Map(),
    years: null,
    licences: new Set(),
    sources: new Set(),
    problem: null,
  };
  try {
    const connector = findConnector(guess.connector);
    const settings = connector.settings.parse(guess.source);
    for await (const item of connector.read({ ...context, settings })) take(found, item);
  } catch (error) {
    context.signal.throwIfAborted();
    found.problem = error instanceof Error ? error.message : String(error);
  }
  return found;
}

function take(found: Probe, item: SourceItem): void {
  if (item.kind === 'failed') found.failed.push({ slug: item.slug, reason: item.reason });
  else if (item.kind === 'indicator') {
    const { slug, name, unit, licence, source } = item.entry;
    found.series.push({ slug, name, unit });
    if (licence !== null) found.licences.add(licence);
    if (source !== null) found.sources.add(source);
  } else if (item.kind === 'observations') {
    found.rows += item.rows.length;
    for (const { place, year, aggregate } of item.rows) {
      if (!aggregate) found.places.set(place, (found.places.get(place) ?? 0) + 1);
      const number = Number(year);
      if (!Number.isInteger(number) || String(year).trim() === '') continue;
      const [first, last] = found.years ?? [number, number];
      found.years = [Math.min(first, number), Math.max(last, number)];
    }
  }
}

/**
 * The place schemes that know most of the places, best first. A further scheme is added while it knows places that the
 * others do not.
 */
export function guessSchemes(
  places: ReadonlyMap<string, number>,
  table: {
    schemes: ReadonlySet<string>;
    resolve(schemes: readonly string[], code: string): { kind: string };
  },
): { schemes: string[]; unknown: string[] } {
  const schemes: string[] = [];
  let unknown = [...places.keys()];
  for (;;) {
    const known = [...table.schemes].map((scheme) => ({
      scheme,
      count: unknown.filter((place) => table.resolve([scheme], place).kind !== 'unknown').length,
    }));
    const best = known.reduce((a, b) => (b.count > a.count ? b : a), { scheme: '', count: 0 });
    if (best.count === 0) return { schemes: schemes.length > 0 ? schemes : ['iso3'], unknown };
    schemes.push(best.scheme);
    unknown = unknown.filter((place) => table.resolve([best.scheme], place).kind === 'unknown');
  }
}
