/**
 * Resolves where a provider is read from, and opens it.
 *
 * The definition names the origin; PROVIDER_MIRROR replaces every origin. A mirror URL serves the same protocol below
 * `/<path>/`. A mirror directory holds files; where its layout differs from the origin's, the definition's `mirror`
 * names the connector or the settings that read it. The starter data are such a directory, too.
 */
import { join } from 'node:path';
import type { Settings } from '../../data/runtime/settings.ts';
import type { MirrorSource, ProviderDefinition } from '../../data/schema/curated.ts';
import { DirectoryUpstream } from './directory-upstream.ts';
import { type HttpOptions, HttpUpstream } from './http-upstream.ts';
import type { TrackedUpstream } from './upstream.ts';

/** Far above any file of country statistics. */
const MAX_FILE_BYTES = 1_000_000_000;

export type UpstreamOptions = Partial<Omit<HttpOptions, 'base' | 'cache' | 'signal'>>;

export interface ResolvedSource {
  /** The connector's protocol, and its settings as the definition states them, not yet validated. */
  connector: string;
  source: Record<string, unknown>;
  /** What references are relative to. `url`: an absolute URL ending in `/`. `directory`: an absolute path. */
  base: { kind: 'url'; url: string } | { kind: 'directory'; path: string };
}

const isUrl = (text: string): boolean => /^https?:\/\//.test(text);
const withSlash = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

/** Chooses connector, settings and base of one provider. */
export function resolveSource(
  definition: Pick<ProviderDefinition, 'id' | 'connector' | 'source' | 'origin' | 'mirror'>,
  settings: Pick<Settings, 'PROVIDER_MIRROR'>,
): ResolvedSource {
  const { connector, source, origin, mirror } = definition;
  const root = settings.PROVIDER_MIRROR;
  if (root === undefined) return { connector, source, base: { kind: 'url', url: withSlash(origin) } };
  const path = (typeof mirror === 'string' ? mirror : mirror?.path) ?? definition.id;
  if (isUrl(root)) {
    return { connector, source, base: { kind: 'url', url: withSlash(new URL(path, withSlash(root)).href) } };
  }
  return inDirectory(definition, typeof mirror === 'object' ? mirror : undefined, join(root, path));
}

/**
 * Chooses connector, settings and directory of a provider's starter data.
 * @throws {RangeError} when the provider has none.
 */
export function resolveStarter(
  definition: Pick<ProviderDefinition, 'id' | 'connector' | 'source' | 'starter'>,
  curatedDir: string,
): ResolvedSource {
  const { id, starter } = definition;
  if (!starter) throw new RangeError(`the provider "${id}" has no starter data`);
  return inDirectory(definition, starter, join(curatedDir, 'starter', starter.path ?? id));
}

/** A source in a directory; `layout` names what differs from the definition's connector and settings. */
function inDirectory(
  { connector, source }: Pick<ProviderDefinition, 'connector' | 'source'>,
  layout: MirrorSource | undefined,
  path: string,
): ResolvedSource {
  const base = { kind: 'directory', path } as const;
  if (!layout) return { connector, source, base };
  return layout.connector === undefined
    ? { connector, source: { ...source, ...layout.source }, base }
    : { connector: layout.connector, source: layout.source, base };
}

/**
 * The URL of a file at its origin, whatever mirror served it. A directory in a layout of its own holds files that the
 * origin does not have: they get the URL of the origin itself.
 * @param layout how the directory differs from the origin; nothing or a text when it does not
 */
export function originUrl(
  { origin }: Pick<ProviderDefinition, 'origin'>,
  layout: MirrorSource | string | undefined,
  { base }: Pick<ResolvedSource, 'base'>,
  reference: string,
): string {
  const hasOwnLayout = base.kind === 'directory' && typeof layout === 'object';
  return hasOwnLayout ? withSlash(origin) : new URL(reference, withSlash(origin)).href;
}

/** Opens a resolved source. `providerDirectory` holds the cache of HTTP downloads. */
export function openUpstream(
  { base }: ResolvedSource,
  providerDirectory: string,
  signal: AbortSignal,
  { maxFileBytes = MAX_FILE_BYTES, ...http }: UpstreamOptions = {},
): TrackedUpstream {
  if (base.kind === 'directory')
    return new DirectoryUpstream(base.path, { maxFileBytes, signal, ...(http.now && { now: http.now }) });
  const cache = join(providerDirectory, '.copies');
  return new HttpUpstream({ base: base.url, cache, maxFileBytes, signal, ...http });
}
