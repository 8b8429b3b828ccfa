/** Inspects an unknown upstream, a directory or a URL, and writes a first definition of it. */
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated/curated.ts';
import { providerDefinition } from '../../data/schema/curated.ts';
import { codeToSlug } from '../connectors/plain-text.ts';
import { findLostPlaces } from '../ingest/lost-places.ts';
import { CommandError } from '../runtime/errors.ts';
import { openUpstream, type ResolvedSource } from '../upstream/open-upstream.ts';
import { UpstreamError } from '../upstream/upstream.ts';
import { type Draft, draftDefinition, findings } from './draft-definition.ts';
import { guessSource } from './guess-source.ts';
import { guessSchemes, probe } from './probe.ts';

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
    (codeToSlug(name)
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]+/g, '-') ||
      'provider');
  if (!providerDefinition.shape.id.safeParse(id).success)
    throw new CommandError(`"${id}" cannot be a provider id; use a–z, 0–9, - and _ (--provider ID)`);
  const file = join(curatedDir, 'providers', `${id}.yaml`);
  if (curated.providers.has(id)) throw new CommandError(`${file} exists; name another id with --provider`);
  const cache = await mkdtemp(join(tmpdir(), 'almanac-inspect-'));
  const source: ResolvedSource = { connector: '', source: {}, base };
  const upstream = openUpstream(source, cache, signal, { now });
  try {
    const guess = await guessSource(upstream, files);
    const definition = providerDefinition.parse(placeholder(id, guess.connector));
    const found = await probe(guess, { definition, upstream, log, signal });
    const { schemes, unknown } = guessSchemes(found.places, curated.places);
    const known = [...found.places.keys()].flatMap((place) => {
      const country = curated.places.resolve(schemes, place);
      return country.kind === 'country' ? [country.iso3] : [];
    });
    const draft: Draft = {
      id,
      location: options.location,
      base: base.kind === 'url' ? { origin: base.url } : { mirror: basename(base.path) },
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
