/**
 * A provider that comes in parts (charts, packages, files): one bad part never loses the others.
 *
 * A part that cannot be opened, or breaks off while it is read, becomes `failed` items for the series it would have
 * given. When none of the first parts works the provider itself is down or has changed its layout, so the run stops
 * with that error instead of asking for hundreds of files in vain; likewise when it
 * goes away in the middle, so that one provider cannot hold up the night with a wait for each of its files. A full disk is no part's fault: it ends the run.
 */
import { machineFault } from '../runtime/machine-fault.ts';
import { UpstreamError } from '../upstream/upstream.ts';
import type { ConnectorContext, SourceItem } from './connector.ts';

/** So many failures before any success, or so many files in a row that could not be had, mean that the provider failed. */
const HOPELESS = 5;

export interface PartReader<Part, Opened> {
  /** What to call the part's series when it cannot even be opened. */
  slug(part: Part): string;
  open(part: Part): Promise<Opened>;
  slugs(opened: Opened): string[];
  read(opened: Opened): AsyncIterable<SourceItem> | Iterable<SourceItem>;
}

/** Two parts give a series of one name: the definition must tell them apart, so the run stops. */
export class SlugConflictError extends Error {
  override name = 'SlugConflictError';
}

/** Two columns or codes can make one slug too; figures of two series must never meet in one. */
function claim(slug: string, part: number, claimed: Map<string, number>): void {
  const owner = claimed.get(slug);
  const message = `two series would be called "${slug}": give one a slug of its own`;
  if (owner === part) throw new Error(message);
  if (owner !== undefined) throw new SlugConflictError(message);
  claimed.set(slug, part);
}

const endsRun = (error: unknown): boolean =>
  error instanceof SlugConflictError || machineFault(error) !== null;
/** Whether a file could not be had although it may well be there. */
const isAway = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.status === null || !isRefusal(error.status));
const isRefusal = (status: number): boolean => status >= 400 && status < 500;
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether it is worth asking for more. */
class Hope {
  #first: unknown = null;
  #bad = 0;
  #good = 0;
  #away = 0;

  succeeded(): void {
    this.#good += 1;
    this.#away = 0;
  }

  /** @throws the error that tells best what is wrong, when nothing more is to be asked for. */
  failed(error: unknown): void {
    this.#first ??= error;
    this.#bad += 1;
    this.#away = isAway(error) ? this.#away + 1 : 0;
    if (this.#good === 0 && this.#bad >= HOPELESS) throw this.#first;
    if (this.#away >= HOPELESS) throw error;
  }

  /** @throws the first error when nothing was good. */
  end(): void {
    if (this.#good === 0 && this.#bad > 0) throw this.#first;
  }
}

/**
 * Reads the parts in order.
 * @throws {SlugConflictError} when two parts give a series of one name.
 * @throws the first part's error when the first five, or all of fewer, fail; the last one's when five in a row could not
 * be fetched; the abort reason when cancelled.
 */
export async function* readParts<Part, Opened>(
  context: Pick<ConnectorContext<unknown>, 'signal' | 'log'>,
  parts: readonly Part[],
  reader: PartReader<Part, Opened>,
): AsyncGenerator<SourceItem, void, undefined> {
  const claimed = new Map<string, number>();
  const hope = new Hope();
  for (const [number, part] of parts.entries()) {
    context.signal.throwIfAborted();
    let slugs = [reader.slug(part)];
    try {
      const opened = await reader.open(part);
      slugs = reader.slugs(opened);
      for await (const item of reader.read(opened)) {
        if (item.kind === 'indicator') claim(item.entry.slug, number, claimed);
        yield item;
      }
      hope.succeeded();
    } catch (error) {
      context.signal.throwIfAborted();
      if (endsRun(error)) throw error;
      const reason = reasonOf(error);
      context.log.warn({ part: slugs[0], reason }, 'part failed');
      // At once, while the series that broke off is still the open one: none of its rows may be kept.
      for (const slug of slugs) yield { kind: 'failed', slug, reason };
      hope.failed(error);
    }
  }
  hope.end();
}
