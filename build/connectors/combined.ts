/**
 * One provider from several sources, each read by its own connector: a mirror with several layouts, or a provider that
 * publishes in several.
 *
 * Parts are read in order. The first part that yields a series, or fails at it, owns it: a series never mixes editions,
 * and an older edition never replaces a broken one silently. A part that fails as a whole fails the run. A catalogue
 * table of the provider fills gaps in the entries; its licences win over those of a package, because the table states
 * them per series.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { encodePath, type Upstream } from '../upstream/upstream.ts';
import { type Connector, type ConnectorContext, laterEdition, type SourceItem } from './connector.ts';
import { readCsvRecords } from './csv.ts';
import { citedSource, sourceFields } from './plain-text.ts';
import { topicTags, unitFromName } from './world-bank-api.ts';

const catalogueTable = z.strictObject({
  /** A CSV file relative to the provider's base. */
  path: z.string(),
  /** The column with the slugs; compared case-insensitively. */
  key: z.string(),
  unit: z.string().optional(),
  description: z.string().optional(),
  source: z.string().optional(),
  /** Subject words separated by colons or semicolons; the whole text is a tag too. */
  tags: z.string().optional(),
  licence: z.string().optional(),
  /** How upstream aggregates the figures of a series. */
  aggregation: z.string().optional(),
});
type CatalogueTable = z.infer<typeof catalogueTable>;

export const combinedSettings = z.strictObject({
  parts: z
    .array(
      z.strictObject({
        connector: z.string(),
        source: z.record(z.string(), z.unknown()).default({}),
        /** The directory of the part below the provider's base. */
        path: z.string().default(''),
        /** The case to convert slugs to. */
        slug_case: z.enum(['keep', 'upper', 'lower']).default('keep'),
        /** Takes missing units from the names, where the World Bank puts them. */
        unit_from_name: z.boolean().default(false),
      }),
    )
    .min(1),
  catalogue: catalogueTable.optional(),
  /** The name of the edition. Default: that of the first part. */
  vintage: z.string().optional(),
});
type CombinedSettings = z.infer<typeof combinedSettings>;
type PartSettings = CombinedSettings['parts'][number];
type Context = ConnectorContext<CombinedSettings>;
type Facts = Pick<CatalogueEntry, 'unit' | 'description' | 'source' | 'tags' | 'licence' | 'aggregation'>;

/** What precedes the references of a subdirectory. */
const referencePrefix = (path: string): string =>
  path === '' ? '' : `${encodePath(path.replace(/\/$/, ''))}/`;

/** The upstream of a subdirectory. */
function subUpstream(upstream: Upstream, path: string): Upstream {
  const prefix = referencePrefix(path);
  return {
    stream: (reference) => upstream.stream(prefix + reference),
    text: (reference) => upstream.text(prefix + reference),
  };
}

/** The facts by upper-cased slug. */
async function readCatalogue(
  upstream: Upstream,
  { path, ...columns }: CatalogueTable,
): Promise<Map<string, Facts>> {
  const facts = new Map<string, Facts>();
  const required = Object.values(columns).filter((name) => name !== undefined);
  for await (const record of readCsvRecords(await upstream.stream(encodePath(path)), required)) {
    const cell = (column: keyof typeof columns): string | null =>
      record[columns[column] ?? '']?.replaceAll(/\s+/g, ' ').trim() || null;
    facts.set((record[columns.key] ?? '').trim().toUpperCase(), {
      unit: cell('unit'),
      description: cell('description'),
      source: cell('source'),
      tags: topicTags(cell('tags'), /[:;]/),
      licence: cell('licence'),
      aggregation: cell('aggregation') ?? undefined,
    });
  }
  return facts;
}

function addFacts(entry: CatalogueEntry, facts: Facts | undefined): CatalogueEntry {
  if (!facts) return entry;
  return {
    ...entry,
    unit: entry.unit ?? facts.unit,
    description: entry.description ?? facts.description,
    ...(entry.source === null ? sourceFields([citedSource(facts.source, entry.source_url)]) : {}),
    tags: [...new Set([...entry.tags, ...facts.tags])],
    licence: facts.licence ?? entry.licence,
    ...(facts.aggregation !== undefined && { aggregation: facts.aggregation }),
  };
}

/** The items that name their series. */
type SeriesItem = Exclude<SourceItem, { kind: 'vintage' | 'plan' }>;

function slugOf(item: SeriesItem, slugCase: PartSettings['slug_case']): string {
  const slug = item.kind === 'indicator' ? item.entry.slug : item.slug;
  if (slugCase === 'keep') return slug;
  return slugCase === 'upper' ? slug.toUpperCase() : slug.toLowerCase();
}

/** An item of a part, under the slug and with the references of the combined provider. */
function convertItem(
  item: SeriesItem,
  slug: string,
  part: PartSettings,
  catalogue: ReadonlyMap<string, Facts>,
): SourceItem {
  if (item.kind === 'failed') return { ...item, slug };
  if (item.kind === 'observations') {
    const prefix = referencePrefix(part.path);
    return { ...item, slug, files: item.files.map((reference) => prefix + reference) };
  }
  const unit = item.entry.unit ?? (part.unit_from_name ? unitFromName(item.entry.name) : null);
  const facts = catalogue.get(slug.toUpperCase());
  return { kind: 'indicator', entry: addFacts({ ...item.entry, slug, unit }, facts) };
}

async function* read(context: Context, lookup: (protocol: string) => Connector): AsyncIterable<SourceItem> {
  const { settings, upstream } = context;
  const parts = settings.parts.map((part) => {
    const connector = lookup(part.connector);
    return { part, connector, partSettings: connector.settings.parse(part.source) };
  });
  const catalogue = settings.catalogue
    ? await readCatalogue(upstream, settings.catalogue)
    : new Map<string, Facts>();
  /** The index of the part that owns each slug. */
  const owners = new Map<string, number>();
  let planned = 0;
  const vintages: (string | null)[] = [];
  for (const [index, { part, connector, partSettings }] of parts.entries()) {
    const partContext = { ...context, settings: partSettings, upstream: subUpstream(upstream, part.path) };
    for await (const item of connector.read(partContext)) {
      if (item.kind === 'vintage') {
        vintages[index] = laterEdition(vintages[index] ?? null, item.vintage);
      } else if (item.kind === 'plan') {
        planned += item.indicators;
        yield { kind: 'plan', indicators: planned };
      } else {
        const slug = slugOf(item, part.slug_case);
        const owner = owners.get(slug) ?? index;
        owners.set(slug, owner);
        if (owner === index) yield convertItem(item, slug, part, catalogue);
      }
    }
  }
  const vintage = settings.vintage ?? vintages[0];
  if (vintage) yield { kind: 'vintage', vintage };
}

/** @param lookup finds a connector by its protocol; throws when there is none */
export function createCombinedConnector(
  lookup: (protocol: string) => Connector,
): Connector<CombinedSettings> {
  return {
    protocol: 'combined',
    settings: combinedSettings,
    read: (context) => read(context, lookup),
  };
}
