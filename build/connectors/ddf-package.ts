/**
 * The catalogue of a DDFcsv data set: which files its data package lists, and what its concepts say of each series.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Upstream } from './connector.ts';
import { openCsv } from './csv-rows.ts';
import type { DdfSettings } from './ddf-settings.ts';
import { plainText } from './plain-text.ts';

const dataPackage = z.looseObject({
  version: z.string().optional(),
  created: z.string().optional(),
  resources: z.array(
    z.looseObject({
      path: z.string(),
      schema: z.looseObject({
        fields: z.array(z.looseObject({ name: z.string() })),
        primaryKey: z.union([z.string(), z.array(z.string())]),
      }),
    }),
  ),
});

/** One datapoint file: its key columns and the columns with figures. */
export interface DatapointFile {
  path: string;
  values: string[];
}

export interface DdfPackage {
  vintage: string | null;
  /** Files with concepts, below the provider's base. */
  concepts: string[];
  /** Files keyed by exactly the definition's `by`. */
  datapoints: DatapointFile[];
}

/** The data set's layout is not DDFcsv. */
export class DdfLayoutError extends Error {
  override name = 'DdfLayoutError';
}

/** @throws {DdfLayoutError} when the package lists no concepts or no datapoints by the wanted key. */
export async function readDdfPackage(upstream: Upstream, settings: DdfSettings): Promise<DdfPackage> {
  const parsed = dataPackage.safeParse(parseJson(await upstream.text(settings.datapackage)));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new DdfLayoutError(`${settings.datapackage}: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { geo, time, by } = settings;
  const isWanted = (key: readonly string[]): boolean =>
    by ? sorted(by) === sorted(key) : key.length === 2 && has(key, geo) && has(key, time);
  const keyOf = (key: string | string[]): string[] => (typeof key === 'string' ? [key] : key);
  const { version, created, resources } = parsed.data;
  const concepts = resources.filter(({ schema }) => keyOf(schema.primaryKey).join() === 'concept');
  const datapoints = resources
    .filter(({ schema }) => isWanted(keyOf(schema.primaryKey)))
    .map(({ path, schema }) => {
      const key = keyOf(schema.primaryKey);
      return { path, values: schema.fields.map((field) => field.name).filter((name) => !key.includes(name)) };
    });
  if (concepts.length === 0) throw new DdfLayoutError(`${settings.datapackage} lists no concepts`);
  if (datapoints.length === 0) {
    throw new DdfLayoutError(
      `${settings.datapackage} lists no datapoints by ${by?.join(', ') ?? [geo, time].map((names) => names.join(' or ')).join(', ')}`,
    );
  }
  return {
    vintage: [version, created].filter(Boolean).join(', ') || null,
    concepts: concepts.map(({ path }) => path),
    datapoints,
  };
}

const sorted = (key: readonly string[]): string => key.toSorted().join();
const has = (key: readonly string[], names: readonly string[]): boolean =>
  names.some((name) => key.includes(name));

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

export type Concept = Record<string, string>;

/** A DDF path is a file path; a reference is a relative URL. */
export const referenceOf = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/** All concepts by id. */
export async function readConcepts(
  upstream: Upstream,
  paths: readonly string[],
): Promise<Map<string, Concept>> {
  const concepts = new Map<string, Concept>();
  for (const path of paths) {
    const { header, batches } = await openCsv(await upstream.stream(referenceOf(path)));
    for await (const batch of batches) {
      for (const cells of batch) {
        const concept = Object.fromEntries(header.map((name, index) => [name, cells[index] ?? '']));
        if (concept.concept) concepts.set(concept.concept, { ...concepts.get(concept.concept), ...concept });
      }
    }
  }
  return concepts;
}

function firstFilled(concept: Concept, names: readonly string[]): string | null {
  for (const name of names) {
    const text = concept[name]?.trim();
    if (text) return text;
  }
  return null;
}

/** Percent is the one format that names a unit. */
function unitOf(concept: Concept, settings: DdfSettings): string | null {
  const unit = firstFilled(concept, settings.concept.unit);
  const scale = firstFilled(concept, settings.concept.scale);
  if (unit && scale && scale.toLowerCase() !== 'units') return `${unit}, ${scale.toLowerCase()}`;
  return unit ?? (concept.format === 'percent' ? '%' : null);
}

/**
 * Catalogue entries of the series, by concept. Where several series share a name, their units tell them apart
 * (the IMF's "Gross domestic product, constant prices" is an amount, an index and a growth rate).
 */
export function entriesOf(
  series: readonly string[],
  concepts: ReadonlyMap<string, Concept>,
  settings: DdfSettings,
): Map<string, CatalogueEntry> {
  const entries = series.map((slug): CatalogueEntry => {
    const concept = concepts.get(slug) ?? {};
    const pick = (names: readonly string[]): string | null => firstFilled(concept, names);
    const tags = pick(settings.concept.tags)?.split(',') ?? [];
    return {
      slug,
      name: plainText(pick(settings.concept.name)) ?? slug,
      description: plainText(pick(settings.concept.description)),
      unit: unitOf(concept, settings),
      source: plainText(pick(settings.concept.source)),
      source_url: pick(settings.concept.source_url),
      tags: tags.map((tag) => tag.trim()).filter((tag) => tag !== '' && tag !== '_none'),
      licence: pick(settings.concept.licence),
    };
  });
  const count = new Map<string, number>();
  for (const { name } of entries) count.set(name, (count.get(name) ?? 0) + 1);
  return new Map(
    entries.map((entry) => {
      const shared = (count.get(entry.name) ?? 0) > 1 && entry.unit !== null;
      return [entry.slug, shared ? { ...entry, name: `${entry.name} (${entry.unit})` } : entry];
    }),
  );
}
