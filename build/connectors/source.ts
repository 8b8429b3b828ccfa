/**
 * Where a provider is read from, and by which connector.
 *
 * The definition names the true origin. PROVIDER_MIRROR replaces every origin: a URL stands in for it and speaks the
 * same protocol below `/<path>/`, so the same connector reads it; a directory holds files, and where those have another
 * layout than the origin serves, the definition's `mirror` says which connector or settings read them instead.
 */
import { join } from 'node:path';
import type { Settings } from '../../data/runtime/settings.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';

export interface EffectiveSource {
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
export function effectiveSource(
  definition: Pick<ProviderDefinition, 'id' | 'connector' | 'source' | 'origin' | 'mirror'>,
  settings: Pick<Settings, 'PROVIDER_MIRROR'>,
): EffectiveSource {
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
