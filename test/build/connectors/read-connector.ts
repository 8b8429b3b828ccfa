/** Runs a connector over a directory or over files in memory, and collects what it yields. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import type { z } from 'zod';
import {
  type Connector,
  type ConnectorContext,
  laterEdition,
  type RawObservation,
  type SourceItem,
} from '../../../build/connectors/connector.ts';
import type { Upstream } from '../../../build/upstream/upstream.ts';
import { providerDefinition } from '../../../data/schema/curated.ts';
import type { CatalogueEntry } from '../../../data/schema/lake.ts';

const nameOf = (reference: string): string => decodeURIComponent(reference.replace(/\?.*$/s, ''));

export function directoryUpstream(directory: string): Upstream {
  return {
    stream: async (reference) => createReadStream(join(directory, nameOf(reference))),
    text: (reference) => readFile(join(directory, nameOf(reference)), 'utf8'),
  };
}

/** Files by name, streamed in chunks of seven bytes to test chunk boundaries. */
export function memoryUpstream(
  files: Record<string, string | Uint8Array>,
): Upstream & { requested: string[] } {
  const requested: string[] = [];
  const find = (reference: string): Uint8Array => {
    requested.push(reference);
    const file = files[nameOf(reference)];
    if (file === undefined) throw new Error(`404 ${reference}`);
    return typeof file === 'string' ? new TextEncoder().encode(file) : file;
  };
  return {
    requested,
    stream: async (reference) => {
      const bytes = find(reference);
      return (async function* () {
        for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
      })();
    },
    text: async (reference) => new TextDecoder().decode(find(reference)),
  };
}

/** A definition whose content does not matter to the connectors under test. */
const definition = providerDefinition.parse({
  id: 'test',
  name: 'Test',
  licence: 'CC BY 4.0',
  licence_url: null,
  attribution: 'Test',
  redistributable: true,
  access_tier: 'open',
  origin: 'https://provider.example/',
  connector: 'test',
  default_topic: 'economy',
});

export interface ReadSeries {
  entry: CatalogueEntry;
  rows: RawObservation[];
}

export interface ReadProvider {
  series: Map<string, ReadSeries>;
  failed: Map<string, string>;
  /** References of the files that each series comes from. */
  files: Map<string, Set<string>>;
  vintage: string | null;
  plan: number | null;
}

/**
 * Reads everything, and checks the contract: series are announced first, contiguous, and have unique slugs; the files
 * that rows come from were read.
 */
export async function readAll<Settings>(
  connector: Connector<Settings>,
  settings: z.input<Connector<Settings>['settings']> | unknown,
  upstream: Upstream,
): Promise<ReadProvider> {
  const result: ReadProvider = {
    series: new Map(),
    failed: new Map(),
    files: new Map(),
    vintage: null,
    plan: null,
  };
  const requested = new Set<string>();
  const context = contextFor(connector, settings, noting(upstream, requested));
  let current: ReadSeries | null = null;
  for await (const item of connector.read(context)) {
    current = takeItem(result, current, item);
    if (item.kind === 'observations') takeFiles(result, item, requested);
  }
  return result;
}

const noting = (upstream: Upstream, requested: Set<string>): Upstream => ({
  stream: (reference) => {
    requested.add(reference);
    return upstream.stream(reference);
  },
  text: (reference) => {
    requested.add(reference);
    return upstream.text(reference);
  },
});

function takeFiles(
  { files: all }: ReadProvider,
  { slug, files }: Extract<SourceItem, { kind: 'observations' }>,
  requested: ReadonlySet<string>,
): void {
  const unread = files.find((reference) => !requested.has(reference));
  if (files.length === 0 || unread !== undefined)
    throw new Error(`${slug} comes from ${unread ?? 'no file'}`);
  all.set(slug, new Set([...(all.get(slug) ?? []), ...files]));
}

function takeItem(result: ReadProvider, current: ReadSeries | null, item: SourceItem): ReadSeries | null {
  if (item.kind === 'vintage') result.vintage = laterEdition(result.vintage, item.vintage);
  if (item.kind === 'plan') result.plan = item.indicators;
  if (item.kind === 'failed') {
    if (result.series.has(item.slug) && current?.entry.slug !== item.slug) {
      throw new Error(`${item.slug} fails when it is no longer open`);
    }
    result.failed.set(item.slug, item.reason);
  }
  if (item.kind === 'indicator') {
    if (result.series.has(item.entry.slug)) throw new Error(`${item.entry.slug} announced twice`);
    const series = { entry: item.entry, rows: [] };
    result.series.set(item.entry.slug, series);
    return series;
  }
  if (item.kind === 'observations') {
    if (current?.entry.slug !== item.slug) throw new Error(`${item.slug} is not the series announced last`);
    for (const row of item.rows) current.rows.push(row);
  }
  return current;
}

export function contextFor<Settings>(
  connector: Connector<Settings>,
  settings: unknown,
  upstream: Upstream,
  signal = new AbortController().signal,
): ConnectorContext<Settings> {
  return {
    definition,
    settings: connector.settings.parse(settings),
    upstream,
    log: pino({ level: 'silent' }),
    signal,
  };
}
