/**
 * Reads a provider that consists of parts (charts, packages, files), so that one unreadable part does not lose the
 * others.
 *
 * A part that cannot be opened or read becomes `failed` items for its series. The run stops when no part of the first
 * few works, or when several in a row are unreachable: the provider is then down or has changed its layout, and hundreds
 * of further requests would only delay the nightly run. A fault of this machine, such as a full disk, also ends the run.
 */
import { machineFault } from '../runtime/machine-fault.ts';
import { UpstreamError } from '../upstream/upstream.ts';
import type { ConnectorContext, SourceItem } from './connector.ts';

/** Failures before any success, or consecutive unreachable parts, after which the run stops. */
const FAILURE_LIMIT = 5;

interface PartReader<Part, Opened> {
  /** The slug to report when the part cannot be opened. */
  slug(part: Part): string;
  open(part: Part): Promise<Opened>;
  slugs(opened: Opened): string[];
  read(opened: Opened): AsyncIterable<SourceItem> | Iterable<SourceItem>;
}

/** Two parts produce the same slug; the definition must rename one, so the run stops. */
class SlugConflictError extends Error {
  override name = 'SlugConflictError';
}

/** Reserves a slug for a part. Two columns of one part can also collide, which fails that part alone. */
function claimSlug(slug: string, part: number, owners: Map<string, number>): void {
  const owner = owners.get(slug);
  const message = `two series would be called "${slug}": give one a slug of its own`;
  if (owner === part) throw new Error(message);
  if (owner !== undefined) throw new SlugConflictError(message);
  owners.set(slug, part);
}

/** Whether a file is unreachable rather than refused with a 4xx status. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.status === null || error.status < 400 || error.status >= 500);

/** Counts failures and decides when the provider as a whole has failed. */
class FailureTracker {
  #first: unknown = null;
  #failed = 0;
  #succeeded = 0;
  #unreachableInARow = 0;

  succeeded(): void {
    this.#succeeded += 1;
    this.#unreachableInARow = 0;
  }

  /** @throws the error that describes the failure of the provider best, once a limit is reached. */
  failed(error: unknown): void {
    this.#first ??= error;
    this.#failed += 1;
    this.#unreachableInARow = isUnreachable(error) ? this.#unreachableInARow + 1 : 0;
    if (this.#succeeded === 0 && this.#failed >= FAILURE_LIMIT) throw this.#first;
    if (this.#unreachableInARow >= FAILURE_LIMIT) throw error;
  }

  /** @throws the first error when all parts failed. */
  end(): void {
    if (this.#succeeded === 0 && this.#failed > 0) throw this.#first;
  }
}

/**
 * Reads the parts in order.
 * @throws {SlugConflictError} when two parts produce the same slug.
 * @throws the first part's error when the first five, or all of fewer, fail; the last error when five parts in a row are
 * unreachable; the abort reason when cancelled.
 */
export async function* readParts<Part, Opened>(
  context: Pick<ConnectorContext<unknown>, 'signal' | 'log'>,
  parts: readonly Part[],
  reader: PartReader<Part, Opened>,
): AsyncIterable<SourceItem> {
  const owners = new Map<string, number>();
  const tracker = new FailureTracker();
  for (const [number, part] of parts.entries()) {
    context.signal.throwIfAborted();
    let slugs = [reader.slug(part)];
    try {
      const opened = await reader.open(part);
      slugs = reader.slugs(opened);
      for await (const item of reader.read(opened)) {
        if (item.kind === 'indicator') claimSlug(item.entry.slug, number, owners);
        yield item;
      }
      tracker.succeeded();
    } catch (error) {
      context.signal.throwIfAborted();
      if (error instanceof SlugConflictError || machineFault(error) !== null) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      context.log.warn({ part: slugs[0], reason }, 'part failed');
      // Reported at once, while the interrupted series is still the current one, so that none of its rows is kept.
      for (const slug of slugs) yield { kind: 'failed', slug, reason };
      tracker.failed(error);
    }
  }
  tracker.end();
}
