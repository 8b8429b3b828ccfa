/**
 * Resolves where a provider is read from, and opens it.
 *
 * The definition names the origin; PROVIDER_MIRROR replaces every origin. A mirror URL serves the same protocol below
 * `/<path>/`. A mirror directory holds files; where its layout differs from the origin's, the definition's `mirror`
 * names the connector or the settings that read it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Settings } from '../../data/runtime/settings.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import { DirectoryUpstream, PACKAGES_ROOT } from './directory-upstream.ts';
import { type HttpOptions, HttpUpstream } from './http-upstream.ts';
import type { TrackedUpstream } from './upstream.ts';

/** Far above any file of country statistics. */
const MAX_FILE_BYTES = 1_000_000_000;

export type UpstreamOptions = Partial<
  Pick<HttpOptions, 'maxFileBytes' | 'retry' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'minThroughput' | 'now'>
>;

export interface ResolvedSource {
  /** The connector's protocol, and its settings as the definition states them, not yet validated. */
  connector: string;
  source: Record<string, unknown>;
  /**
   * What references are relative to. `url`: an absolute URL ending in `/`. `directory`: an absolute path. `none`: the
   * data ship in npm packages.
   */
  base: { kind: 'url'; url: string } | { kind: 'directory'; path: string } | { kind: 'none' };
}

const isUrl = (text: string): boolean => /^https?:\/\//.test(text);
const withSlash = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

/** Chooses connector, settings and base of one provider. A definition without an origin ignores PROVIDER_MIRROR. */
export function resolveSource(
  definition: Pick<ProviderDefinition, 'id' | 'connector' | 'source' | 'origin' | 'mirror'>,
  settings: Pick<Settings, 'PROVIDER_MIRROR'>,
): ResolvedSource {
  const { connector, source, origin, mirror } = definition;
  if (origin === undefined) return { connector, source, base: { kind: 'none' } };
  const root = settings.PROVIDER_MIRROR;
  if (root === undefined) return { connector, source, base: { kind: 'url', url: withSlash(origin) } };
  const path = (typeof mirror === 'string' ? mirror : mirror?.path) ?? definition.id;
  if (isUrl(root)) {
    return { connector, source, base: { kind: 'url', url: withSlash(new URL(path, withSlash(root)).href) } };
  }
  const base = { kind: 'directory', path: join(root, path) } as const;
  if (typeof mirror !== 'object') return { connector, source, base };
  return mirror.connector === undefined
    ? { connector, source: { ...source, ...mirror.source }, base }
    : { connector: mirror.connector, source: mirror.source, base };
}

/**
 * The URL of a file at its origin, whatever mirror served it. A mirror in a layout of its own holds files that the origin
 * does not have: they get the URL of the origin itself. A file of an npm package gets the package URL.
 * @param version finds the installed version of a package
 */
export async function originUrl(
  { origin, mirror }: Pick<ProviderDefinition, 'origin' | 'mirror'>,
  { base }: Pick<ResolvedSource, 'base'>,
  reference: string,
  version: (packageName: string) => Promise<string> = installedVersion,
): Promise<string> {
  if (origin === undefined) return packageUrl(reference, version);
  const hasOwnLayout = base.kind === 'directory' && typeof mirror === 'object';
  return hasOwnLayout ? withSlash(origin) : new URL(reference, withSlash(origin)).href;
}

/** A package URL (purl): `pkg:npm/%40scope/name@1.2.3#data/file.json`. */
async function packageUrl(reference: string, version: (name: string) => Promise<string>): Promise<string> {
  const segments = reference.split('/');
  const name = segments.splice(0, reference.startsWith('%40') ? 2 : 1).join('/');
  return `pkg:npm/${name}@${await version(decodeURIComponent(name))}#${segments.join('/')}`;
}

const packageJson = z.looseObject({ version: z.string() });

async function installedVersion(packageName: string): Promise<string> {
  const text = await readFile(join(PACKAGES_ROOT, packageName, 'package.json'), 'utf8');
  return packageJson.parse(JSON.parse(text)).version;
}

/** Opens a resolved source. `providerDirectory` holds the cache of HTTP downloads. */
export function openUpstream(
  { base }: ResolvedSource,
  providerDirectory: string,
  signal: AbortSignal,
  { maxFileBytes = MAX_FILE_BYTES, ...http }: UpstreamOptions = {},
): TrackedUpstream {
  if (base.kind !== 'url') {
    const root = base.kind === 'none' ? PACKAGES_ROOT : base.path;
    return new DirectoryUpstream(root, { maxFileBytes, signal, ...(http.now && { now: http.now }) });
  }
  const cache = join(providerDirectory, '.copies');
  return new HttpUpstream({ base: base.url, cache, maxFileBytes, signal, ...http });
}
