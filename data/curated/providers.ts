/**
 * Reads provider definitions, `providers/<id>.yaml`. The file name is the provider's id. Place schemes must exist and
 * regular expressions must compile.
 *
 * And merges the settings of single indicators. For each setting the most specific source wins: a row of
 * `overlay/<provider>.csv`, then `indicators` of the definition, then the concept, then the first matching one of `rules`.
 */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  type IndicatorOverlay,
  type IndicatorRule,
  indicatorOverlay,
  type ProviderDefinition,
  providerDefinition,
} from '../schema/curated.ts';
import { type CatalogueEntry, QUALITY_REPORTS } from '../schema/lake.ts';
import { INDICATOR_ID } from '../schema/records.ts';
import {
  asBoolean,
  asNumber,
  type CuratedDocument,
  check,
  type Position,
  type Problems,
  readDocument,
  readTable,
  type TableRow,
} from './table.ts';

const RULE_EXPRESSIONS = ['slug', 'name', 'tag', 'licence'] as const;

export type Providers = Awaited<ReturnType<typeof loadProviders>>;

/** @param schemes the place schemes that exist. */
export async function loadProviders(dir: string, schemes: ReadonlySet<string>, problems: Problems) {
  /** By id, in the order of ids. */
  const definitions = new Map<string, ProviderDefinition>();
  /** Ids of all files, invalid ones included, so that a bad definition is not reported again by its references. */
  const named = new Set<string>();
  const positions = new Map<string, CuratedDocument<ProviderDefinition>['at']>();
  const names = await readdir(dir).catch(() => []);
  const files = names.filter((name) => name.endsWith('.yaml')).sort();
  if (files.length === 0) problems.add({ file: dir, line: 1 }, 'there is no provider definition (*.yaml)');
  for (const name of files) {
    const expected = basename(name, '.yaml');
    named.add(expected);
    const document = await readDocument(join(dir, name), providerDefinition, problems);
    if (document === undefined) continue;
    const { id } = document.value;
    if (id !== expected) problems.add(document.at(['id']), `id: "${id}" in the file of "${expected}"`);
    if (id === QUALITY_REPORTS)
      problems.add(document.at(['id']), `id: "${id}" is reserved for the lake's reports`);
    checkReferences(document, schemes, problems);
    definitions.set(id, document.value);
    positions.set(id, document.at);
  }
  /** Where a value stands in the file of a definition. */
  const at = (id: string, path: readonly PropertyKey[]): Position =>
    positions.get(id)?.(path) ?? { file: dir, line: 1 };
  return { definitions, named, at };
}

function checkReferences(
  { value, at }: CuratedDocument<ProviderDefinition>,
  schemes: ReadonlySet<string>,
  problems: Problems,
): void {
  value.places.forEach((scheme, i) => {
    if (!schemes.has(scheme)) problems.add(at(['places', i]), `places: there is no scheme "${scheme}"`);
  });
  value.rules.forEach((rule, i) => {
    const given = RULE_EXPRESSIONS.filter((field) => rule[field] !== undefined);
    if (given.length === 0)
      problems.add(at(['rules', i]), `rules.${i}: slug, name, tag or licence is needed`);
    for (const field of given) {
      const fault = findFault(rule[field] ?? '');
      if (fault !== undefined) problems.add(at(['rules', i, field]), `rules.${i}.${field}: ${fault}`);
    }
  });
  for (const slug of Object.keys(value.indicators)) {
    if (!INDICATOR_ID.test(`${value.id}.${slug}`)) {
      problems.add(at(['indicators', slug]), `indicators: "${slug}" cannot be part of an indicator id`);
    }
  }
}

function findFault(expression: string): string | undefined {
  try {
    new RegExp(expression, 'iu');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

type Setting = keyof IndicatorOverlay;
type Column = 'slug' | Setting;

const SETTINGS = Object.keys(indicatorOverlay.shape) as Setting[];
const BOOLEAN: readonly Column[] = ['preferred', 'featured', 'no_rank', 'enabled', 'redistributable'];
const NUMBER: readonly Column[] = ['order', 'projected_from', 'ci_level', 'min', 'max'];

/** In a `higher_is_better` cell: neither direction is better. An empty cell means not curated. */
export const NEITHER_BETTER = 'none';

/** The settings of one row, and where it stands. */
export interface OverlayRow {
  settings: IndicatorOverlay;
  at: Position;
}

/** Provider id → slug → row. */
export type OverlayTables = Map<string, Map<string, OverlayRow>>;

/** Reads every `overlay/<provider>.csv`; `providers` are the ids that there are. */
export async function loadOverlays(
  dir: string,
  providers: ReadonlySet<string>,
  problems: Problems,
): Promise<OverlayTables> {
  const tables: OverlayTables = new Map();
  const files = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith('.csv')).sort();
  for (const name of files) {
    const file = join(dir, name);
    const provider = basename(name, '.csv');
    if (!providers.has(provider)) problems.add({ file, line: 1 }, `there is no provider "${provider}"`);
    const rows = await readTable<Column>(file, ['slug'], SETTINGS, problems);
    tables.set(provider, readRows(provider, rows, problems));
  }
  return tables;
}

function readRows(provider: string, rows: TableRow<Column>[], problems: Problems): Map<string, OverlayRow> {
  const overlay = new Map<string, OverlayRow>();
  for (const { cells, ...at } of rows) {
    const { slug } = cells;
    if (slug === null || !INDICATOR_ID.test(`${provider}.${slug}`)) {
      problems.add(at, `slug: "${slug ?? ''}" cannot be the second part of an indicator id`);
    } else if (overlay.has(slug)) {
      problems.add(at, `${slug} is listed twice`);
    } else {
      const settings = check(indicatorOverlay, parseSettings(cells), at, problems);
      if (settings !== undefined) overlay.set(slug, { settings, at });
    }
  }
  return overlay;
}

const parseSettings = (cells: Record<Column, string | null>): Record<string, unknown> =>
  Object.fromEntries(
    SETTINGS.flatMap((name) => {
      const cell = cells[name] ?? null;
      return cell === null ? [] : [[name, parseSetting(name, cell)]];
    }),
  );

function parseSetting(name: Setting, cell: string): unknown {
  if (name === 'higher_is_better') return cell === NEITHER_BETTER ? null : asBoolean(cell);
  if (name === 'sources') return readSources(cell);
  if (BOOLEAN.includes(name)) return asBoolean(cell);
  return NUMBER.includes(name) ? asNumber(cell) : cell;
}

/** `ILOSTAT <https://ilostat.ilo.org/>; Census of 1990`: names with a URL or without, separated by semicolons. */
function readSources(cell: string): unknown {
  return cell.split(';').map((part) => {
    const { name, url } = /^(?<name>[^<]*)<(?<url>[^>]*)>$/.exec(part.trim())?.groups ?? {};
    return name === undefined ? { name: part.trim() } : { name: name.trim(), url };
  });
}

/** Returns the test whether a rule applies to a series: all given expressions match. An absent upstream field never does. */
export function ruleMatcher(rule: IndicatorRule): (entry: CatalogueEntry) => boolean {
  const [slug, name, tag, licence] = RULE_EXPRESSIONS.map((field) => {
    const expression = rule[field];
    return expression === undefined ? undefined : new RegExp(expression, 'iu');
  });
  return (entry) =>
    (slug?.test(entry.slug) ?? true) &&
    (name?.test(entry.name) ?? true) &&
    (tag === undefined || entry.tags.some((one) => tag.test(one))) &&
    (licence === undefined || (entry.licence !== null && licence.test(entry.licence)));
}

/**
 * Returns the function that merges the sources for one provider.
 * @param ofConcept the settings that a series takes from its concept.
 */
export function overlayOf(
  definition: ProviderDefinition,
  table: ReadonlyMap<string, OverlayRow> | undefined,
  ofConcept: (indicator: string) => IndicatorOverlay,
): (entry: CatalogueEntry) => IndicatorOverlay {
  // In reverse, so that the first matching rule wins.
  const rules = definition.rules.map((rule) => ({ matches: ruleMatcher(rule), set: rule.set })).reverse();
  return (entry) =>
    Object.assign(
      {},
      ...rules.filter(({ matches }) => matches(entry)).map(({ set }) => set),
      ofConcept(`${definition.id}.${entry.slug}`),
      definition.indicators[entry.slug],
      table?.get(entry.slug)?.settings,
    ) as IndicatorOverlay;
}
