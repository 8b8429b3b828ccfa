/** Opens the upstream of one provider: its origin, a mirror of it, or the packages that carry its data. */
import { join } from 'node:path';
import type { EffectiveSource } from '../connectors/source.ts';
import { DirectoryUpstream, PACKAGES_ROOT } from './directory-upstream.ts';
import type { TrackedUpstream } from './fetched-files.ts';
import { type HttpOptions, HttpUpstream } from './http-upstream.ts';

/** No upstream file of country statistics comes near it; a server that sends more is broken or hostile. */
const MAX_FILE_BYTES = 1_000_000_000;

export type UpstreamOptions = Partial<
  Pick<
    HttpOptions,
    'maxFileBytes' | 'retry' | 'politeness' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'slowest'
  >
>;

export function openUpstream(
  source: EffectiveSource,
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
