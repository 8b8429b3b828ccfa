/**
 * One provider out of several sources, each read by its own connector: a mirror that holds a provider's figures in
 * three layouts, or a provider that publishes in two.
 *
 * Parts are read in order. The first that gives a series, or fails at it, keeps it: no series mixes two editions, and a
 * broken one is never replaced by an older edition in silence. A part that fails as a whole fails the run. A table of
 * the provider's own may complete the catalogue: it adds what the parts do not say, and its licences win, because a
 * package's licence is that of the package while the table knows each series.
 */
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Connector, ConnectorContext, SourceItem } from './connector.ts';
import { columnIndex, openCsv } from './csv.ts';
import { unitFromName } from './world-bank-api.ts';

const catalogueTable = z.strictObject({
  /** A CSV relative to the provider's base. */
  path: z.string(),
  /** The column with the slugs, compared without regard to case. */
  key: z.string(),
  unit: z.string().optional(),
  description: z.string().optional(),
  source: z.string().optional(),
  /** Subject words, separated by colons or semicolons; the whole text is a tag too. */
  tags: z.string().optional(),
  licence: z.string().optional(),
});
type CatalogueTable = z.infer<typeof catalogueTable>;

export const combinedSettings = z.strictObject({
  parts: z
    .array(
      z.strictObject({
        connector: z.string(),
        source: z.record(z.string(), z.unknown()).default({}),
        /** Folder of the part below the provider's base. */
        path: z.string().default(''),
        /** How this part's slugs are written. */
        slug_case: z.enum(['keep', 'upper', 'lower']).default('keep'),
        /** Takes units that the part does not say out of its names, where the World Bank puts them. */
        unit_from_name: z.boolean().default(false),
      }),
    )
    .min(1),
  catalogue: catalogueTable.optional(),
  /** What the whole is called. Default: what the first part calls itself, for the others only fill its gaps. */
  vintage: z.string().optional(),
});
export type CombinedSettings = z.infer<typeof combinedSettings>;
type PartSettings = CombinedSettings['parts'][number];
type Context = ConnectorContext<CombinedSettings>;
type Facts = Pick<CatalogueEntry, 'unit' | 'description' | 'source' | 'tags' | 'licence'>;

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

function below(upstream: Upstream, path: string): Upstream {
  if (path === '') return upstream;
  const prefix = `${encodePath(path.replace(/\/$/, ''))}/`;
  return {
    stream: (reference) => upstream.stream(prefix + reference),
    text: (reference) => upstream.text(prefix + reference),
  };
}

function tagsOf(text: string | null): string[] {
  if (text === null) return [];
  const words = text.split(/[:;]/).map((word) => word.trim());
  return [...new Set([...words.filter((word) => word !== ''), text])];
}

async function readCatalogue(upstream: Upstream, table: CatalogueTable): Promise<Map<string, Facts>> {
  const { header, batches } = await openCsv(await upstream.stream(encodePath(table.path)));
  const at = (name: string | undefined): number => (name === undefined ? -1 : columnIndex(header, name));
  const key = at(table.key);
  const columns = {
    unit: at(table.unit),
    description: at(table.description),
    source: at(table.source),
    tags: at(table.tags),
    licence: at(table.licence),
  };
  const facts = new Map<string, Facts>();
  for await (const batch of batches) {
    for (const cells of batch) {
      const cell = (index: number): string | null => cells[index]?.replaceAll(/\s+/g, ' ').trim() || null;
      facts.set((cells[key] ?? '').trim().toUpperCase(), {
        unit: cell(columns.unit),
        description: cell(columns.description),
        source: cell(columns.source),
        tags: tagsOf(cell(columns.tags)),
        licence: cell(columns.licence),
      });
    }
  }
  return facts;
}

function complete(entry: CatalogueEntry, facts: Facts | undefined): CatalogueEntry {
  if (!facts) return entry;
  return {
    ...entry,
    unit: entry.unit ?? facts.unit,
    description: entry.description ?? facts.description,
    source: entry.source ?? facts.source,
    tags: [...new Set([...entry.tags, ...facts.tags])],
    licence: facts.licence ?? entry.licence,
  };
}

function inCase(slug: string, slugCase: PartSettings['slug_case']): string {
  if (slugCase === 'keep') return slug;
  return slugCase === 'upper' ? slug.toUpperCase() : slug.toLowerCase();
}

/** What the parts have given so far. */
interface Progress {
  /** The number of the part that keeps each slug. */
  owners: Map<string, number>;
  planned: number;
  vintage: string | null;
}

/** Hands on what a part says of series that are its own; null for everything else. */
function accept(
  item: SourceItem,
  number: number,
  part: PartSettings,
  progress: Progress,
  catalogue: ReadonlyMap<string, Facts>,
): SourceItem | null {
  if (item.kind === 'vintage') {
    if (number === 0) progress.vintage = item.vintage;
    return null;
  }
  if (item.kind === 'plan') {
    progress.planned += item.indicators;
    return { kind: 'plan', indicators: progress.planned };
  }
  const slug = inCase(item.kind === 'indicator' ? item.entry.slug : item.slug, part.slug_case);
  const owner = progress.owners.get(slug) ?? number;
  progress.owners.set(slug, owner);
  if (owner !== number) return null;
  if (item.kind !== 'indicator') return { ...item, slug };
  const unit = item.entry.unit ?? (part.unit_from_name ? unitFromName(item.entry.name) : null);
  const facts = catalogue.get(slug.toUpperCase());
  return { kind: 'indicator', entry: complete({ ...item.entry, slug, unit }, facts) };
}

async function* read(
  context: Context,
  lookup: (protocol: string) => Connector,
): AsyncGenerator<SourceItem, void, undefined> {
  const { settings, upstream } = context;
  const parts = settings.parts.map((part) => {
    const connector = lookup(part.connector);
    return { part, connector, own: connector.settings.parse(part.source) };
  });
  const catalogue = settings.catalogue
    ? await readCatalogue(upstream, settings.catalogue)
    : new Map<string, Facts>();
  const progress: Progress = { owners: new Map(), planned: 0, vintage: null };
  for (const [number, { part, connector, own }] of parts.entries()) {
    const inner = { ...context, settings: own, upstream: below(upstream, part.path) };
    for await (const item of connector.read(inner)) {
      const mine = accept(item, number, part, progress, catalogue);
      if (mine !== null) yield mine;
    }
  }
  const vintage = settings.vintage ?? progress.vintage;
  if (vintage !== null) yield { kind: 'vintage', vintage };
}

/**
 * The connector for combined providers.
 * @param lookup finds a connector by its protocol; throws when there is none
 */
export function createCombinedConnector(
  lookup: (protocol: string) => Connector,
): Connector<CombinedSettings> {
  return {
    protocol: 'combined',
    settings: combinedSettings,
    read: (context) => read(context, lookup),
  };
}
