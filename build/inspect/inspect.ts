/** Inspects an unknown upstream, a directory or a URL, and writes a first definition of it. */
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { extent, max, minIndex } from 'd3-array';
import type { Logger } from 'pino';
import { stringify } from 'yaml';
import type { Curated } from '../../data/curated/curated.ts';
import type { PlaceTable } from '../../data/curated/places.ts';
import { providerDefinition } from '../../data/schema/curated.ts';
import type { CatalogueEntry, LostPlace } from '../../data/schema/lake.ts';
import type { ConnectorContext, RawObservation } from '../connectors/connector.ts';
import { guessSource, type SourceGuess } from '../connectors/guess-source.ts';
import { findConnector } from '../connectors/registry.ts';
import { findLostPlaces, listed, providerSchemes } from '../ingest/ingest.ts';
import { CommandError, describeError } from '../runtime/errors.ts';
import { openUpstream, type ResolvedSource } from '../upstream/open-upstream.ts';
import { UpstreamError } from '../upstream/upstream.ts';

export interface InspectOptions {
  /** A directory, a file, or a URL of a file or of a directory with a datapackage.json. */
  location: string;
  /** The provider id; default: made of the location's name. */
  id?: string | undefined;
  curated: Curated;
  curatedDir: string;
  log: Logger;
  signal: AbortSignal;
  now: () => number;
}

export interface Inspection {
  /** The definition that was written. */
  file: string;
  findings: string[];
  /** The command that reads the upstream with the definition. */
  command: string;
  /** Whether the upstream could be read with the guesses. */
  isReadable: boolean;
}

interface Location {
  base: ResolvedSource['base'];
  /** Paths below the base that may hold data. */
  files: string[];
  name: string;
}

const MAX_DEPTH = 3;
const MAX_FILES = 1_000;

/**
 * @throws {CommandError} when there is nothing to read, or the definition exists.
 */
export async function inspect(options: InspectOptions): Promise<Inspection> {
  const { curated, curatedDir, log, signal, now } = options;
  const { base, files, name } = await locate(options.location);
  const id =
    options.id ??
    (name
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]+/g, '-')
      .replaceAll(/^[-_]+|-+$/g, '') ||
      'provider');
  if (!providerDefinition.shape.id.safeParse(id).success)
    throw new CommandError(`"${id}" cannot be a provider id; use a–z, 0–9, - and _ (--provider ID)`);
  const file = join(curatedDir, 'providers', `${id}.yaml`);
  if (curated.providers.has(id)) throw new CommandError(`${file} exists; name another id with --provider`);
  const cache = await mkdtemp(join(tmpdir(), 'almanac-inspect-'));
  const source: ResolvedSource = { connector: '', source: {}, base };
  const upstream = openUpstream(source, cache, signal, { now });
  try {
    const usual = providerSchemes(curated.places);
    const isPlace = (cell: string): boolean => curated.places.resolve(usual, cell).kind !== 'unknown';
    const guess = await guessSource(upstream, files, isPlace);
    const definition = providerDefinition.parse(placeholder(id, guess.connector));
    const found = await probe(guess, { definition, upstream, log, signal });
    const { schemes, unknown } = guessSchemes(found.places, curated.places);
    const known = [...found.places].flatMap((place) => {
      const country = curated.places.resolve(schemes, place);
      return country.kind === 'country' ? [country.iso3] : [];
    });
    const draft: Draft = {
      id,
      location: options.location,
      base,
      guess,
      found,
      schemes,
      unknown,
      lost: findLostPlaces(unknown, new Set(known), curated),
      currentYear: new Date(now()).getUTCFullYear(),
    };
    await writeFile(file, draftDefinition(draft), { flag: 'wx' });
    const mirror = base.kind === 'url' ? '' : `PROVIDER_MIRROR=${dirname(base.path)} `;
    return {
      file,
      findings: findings(draft),
      isReadable: found.problem === null,
      command: `${mirror}npm run build-data -- ingest --provider ${id}`,
    };
  } catch (error) {
    if (error instanceof RangeError || error instanceof UpstreamError) throw new CommandError(error.message);
    throw error;
  } finally {
    await upstream.close(false);
    await rm(cache, { recursive: true, force: true });
  }
}

/** The least that a connector needs to know of its provider. */
const placeholder = (id: string, connector: string) => ({
  id,
  name: id,
  licence: 'unknown',
  licence_url: null,
  attribution: id,
  redistributable: false,
  access_tier: 'display',
  connector,
  origin: `https://${id}.example/`,
  default_topic: 'economy',
});

async function locate(location: string): Promise<Location> {
  if (/^https?:\/\//.test(location)) return locateUrl(location);
  const path = resolve(location);
  const found = await stat(path).catch(() => null);
  if (!found) throw new CommandError(`there is no directory or file ${location}`);
  if (found.isFile()) {
    const name = basename(path);
    return { base: { kind: 'directory', path: resolve(path, '..') }, files: [name], name: bareName(name) };
  }
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => relative(path, join(entry.parentPath, entry.name)))
    .filter((file) => file.split('/').length <= MAX_DEPTH)
    .sort()
    .slice(0, MAX_FILES);
  return { base: { kind: 'directory', path }, files, name: basename(path) };
}

/** A URL whose last segment has an extension or a query is a file, any other a directory with a data package. */
function locateUrl(location: string): Location {
  if (!URL.canParse(location)) throw new CommandError(`${location} is no URL`);
  const { origin, pathname, search, hostname } = new URL(location);
  const at = pathname.lastIndexOf('/') + 1;
  const isFile = search !== '' || /\.\w+$/.test(pathname);
  const directory = isFile ? pathname.slice(0, at) : pathname.replace(/\/?$/, '/');
  const file = isFile ? decodeURIComponent(pathname.slice(at)) + search : 'datapackage.json';
  return { base: { kind: 'url', url: origin + directory }, files: [file], name: hostname };
}

const bareName = (file: string): string => file.replace(/\..*$/, '');

interface Probe {
  /** Series that were read, in order. */
  entries: CatalogueEntry[];
  failed: { slug: string; reason: string }[];
  rows: number;
  /** As upstream writes them; groups that upstream marks are left out. */
  places: Set<string>;
  years: Set<number>;
  /** Why the upstream could not be read; null when it could. */
  problem: string | null;
}

type Context = Omit<ConnectorContext<unknown>, 'settings'>;

/** Never throws for what upstream holds: the problem is part of the result. */
async function probe(guess: SourceGuess, context: Context): Promise<Probe> {
  const found: Probe = {
    entries: [],
    failed: [],
    rows: 0,
    places: new Set(),
    years: new Set(),
    problem: null,
  };
  try {
    const connector = findConnector(guess.connector);
    const settings = connector.settings.parse(guess.source);
    for await (const item of connector.read({ ...context, settings })) {
      if (item.kind === 'failed') found.failed.push(item);
      else if (item.kind === 'indicator') found.entries.push(item.entry);
      else if (item.kind === 'observations') takeRows(found, item.rows);
    }
  } catch (error) {
    context.signal.throwIfAborted();
    found.problem = describeError(error);
  }
  return found;
}

function takeRows(found: Probe, rows: readonly RawObservation[]): void {
  found.rows += rows.length;
  for (const { place, year, aggregate } of rows) {
    if (!aggregate) found.places.add(place);
    const number = Number(year);
    if (Number.isInteger(number) && String(year).trim() !== '') found.years.add(number);
  }
}

/**
 * The place schemes that know most of the places, best first. A further scheme is added while it knows places that the
 * others do not.
 */
function guessSchemes(places: Iterable<string>, table: PlaceTable): { schemes: string[]; unknown: string[] } {
  const schemes: string[] = [];
  let unknown = [...places];
  const unknownTo = (scheme: string): string[] =>
    unknown.filter((place) => table.resolve([scheme], place).kind === 'unknown');
  for (;;) {
    const rest = providerSchemes(table).map((scheme) => ({ scheme, unknown: unknownTo(scheme) }));
    const best = rest[minIndex(rest, (one) => one.unknown.length)];
    if (!best || best.unknown.length === unknown.length)
      return { schemes: schemes.length > 0 ? schemes : ['iso3'], unknown };
    schemes.push(best.scheme);
    ({ unknown } = best);
  }
}

interface Draft {
  id: string;
  /** Where it was read. */
  location: string;
  base: ResolvedSource['base'];
  guess: SourceGuess;
  found: Probe;
  schemes: string[];
  unknown: string[];
  lost: readonly LostPlace[];
  currentYear: number;
}

const yaml = (value: Record<string, unknown>): string =>
  stringify(value, { lineWidth: 0, flowCollectionPadding: true });
const comment = (text: string): string => `# ${text.replaceAll(/\s*\n\s*/g, ' ')}\n`;

/** The text of `data/providers/<id>.yaml`. */
function draftDefinition(draft: Draft): string {
  const { id, base, guess, found, schemes, currentYear } = draft;
  const isUrl = base.kind === 'url';
  const firstOf = (field: 'licence' | 'source') =>
    found.entries.map((entry) => entry[field]).find((text) => text !== null);
  const licence = firstOf('licence');
  const last = max(found.years) ?? currentYear;
  return [
    ...findings(draft).map(comment),
    '\n',
    yaml({ id, name: id }),
    comment(
      'Unpublished until both are set: `enabled`, and `redistributable` once the licence is known to allow it.',
    ),
    yaml({ enabled: false, redistributable: false, access_tier: 'display' }),
    licence === undefined
      ? comment('Look the licence up.')
      : comment('Guess: the licence that upstream states.'),
    yaml({ licence: licence ?? 'unknown', licence_url: null }),
    comment('Guess: the credit line. Take the wording that the licence asks for.'),
    yaml({ attribution: firstOf('source') ?? id }),
    isUrl
      ? ''
      : comment('The URL of the upstream. It was read from the folder `mirror` below PROVIDER_MIRROR.'),
    yaml(isUrl ? { origin: base.url } : { origin: `https://${id}.example/`, mirror: basename(base.path) }),
    comment(`Guess: ${guess.reason}.`),
    yaml({
      connector: guess.connector,
      ...(Object.keys(guess.source).length > 0 ? { source: guess.source } : {}),
    }),
    comment('Guess: the schemes that know the places.'),
    yaml({ places: schemes }),
    last > currentYear
      ? comment(`Guess: rows reach ${last}; the first year that is a forecast.`) +
        yaml({ projected_from: currentYear + 1 })
      : '',
    comment('Guess: the topic of series without one.'),
    yaml({ default_topic: 'economy' }),
  ].join('');
}

/** What was found, as sentences: the head of the file, and what the command prints. */
function findings({ location, guess, found, unknown, lost }: Draft): string[] {
  const { problem, entries, failed, rows, years } = found;
  const leftOut =
    guess.leftOut.length > 0
      ? [`Left out, for the table with the most known places: ${listed(guess.leftOut)}.`]
      : [];
  if (problem !== null)
    return [`Read from ${location}. It could not be read with these guesses: ${problem}`, ...leftOut];
  const span = years.size > 0 ? `, ${extent(years).join(' to ')}` : '';
  return [
    `Read from ${location}: ${rows} rows of ${entries.length} series, ${found.places.size} places${span}.`,
    ...leftOut,
    `Series: ${listed(entries.map(({ slug, unit }) => (unit ? `${slug} [${unit}]` : slug)))}.`,
    ...(failed.length > 0
      ? [`Failed: ${listed(failed.map(({ slug, reason }) => `${slug}: ${reason}`))}.`]
      : []),
    ...(unknown.length > 0 ? [`Unknown places, to be listed in data/places.csv: ${listed(unknown)}.`] : []),
    ...(lost.length > 0
      ? [`Countries among them: ${listed(lost.map(({ place, name }) => `"${place}" (${name}?)`))}.`]
      : []),
  ];
}
