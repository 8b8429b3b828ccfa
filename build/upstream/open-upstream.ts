/** Opens the upstream of one provider: its origin, a mirror of it, or the packages that carry its data. */
import { join } from 'node:path';
import type { Settings } from '../../data/runtime/settings.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import { DirectoryUpstream, PACKAGES_ROOT } from './directory-upstream.ts';
import { type HttpOptions, HttpUpstream } from './http-upstream.ts';
import type { TrackedUpstream } from './upstream.ts';

/** No upstream file of country statistics comes near it; a server that sends more is broken or hostile. */
const MAX_FILE_BYTES = 1_000_000_000;

export type UpstreamOptions = Partial<
  Pick<
    HttpOptions,
    'maxFileBytes' | 'retry' | 'politeness' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'slowest'
  >
>;

export function openUpstream(
  source: ResolvedSource,
  providerDirectory: string,
  signal: AbortSignal,
  options: UpstreamOptions = {},
): TrackedUpstream {
  const { maxFileBytes = MAX_FILE_BYTES, ...http } = options;
  const { base } = source;
  if (base.kind === 'directory') return new DirectoryUpstream(base.path, { maxFileBytes, signal });
  if (base.kind === 'none') return new DirectoryUpstream(PACKAGES_ROOT, { maxFileBytes, signal });
  return new HttpUpstream({
    base: base.url,
    cache: join(providerDirectory, '.copies'),
    maxFileBytes,
    signal,
    ...http,
  });
}

/**
 * Where a provider is read from, and by which connector.
 *
 * The definition names the true origin. PROVIDER_MIRROR replaces every origin: a URL stands in for it and speaks the
 * same protocol below `/<path>/`, so the same connector reads it; a directory holds files, and where those have another
 * layout than the origin serves, the definition's `mirror` says which connector or settings read them instead.
 */

export interface ResolvedSource {
  /** Name of the connector, and its settings as the definition gives them (not yet checked). */
  connector: string;
  source: Record<string, unknown>;
  /**
   * `url`: an absolute address ending in `/`. `directory`: an absolute path. `none`: the data ship inside packages.
   * References of the connector are relative to it.
   */
  base: { kind: 'url'; url: string } | { kind: 'directory'; path: string } | { kind: 'none' };
}

const isUrl = (text: string): boolean => /^https?:\/\//.test(text);
const withSlash = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

/**
 * Chooses connector, settings and base of one provider.
 * A definition without an origin has nothing to mirror: it is the same under every setting.
 */
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
