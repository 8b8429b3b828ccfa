/**
 * A provider that comes in parts (charts, packages, files): one bad part never loses the others.
 *
 * A part that cannot be opened, or breaks off while it is read, becomes `failed` items for the series it would have
 * given. When none of the first parts works the provider itself is down or has changed its layout, so the run stops
 * with that error instead of asking for hundreds of files in vain. A full disk is no part's fault: it ends the run.
 */
import { localFault } from '../local-fault.ts';
import type { ConnectorContext, SourceItem } from './connector.ts';

/** So many failures before any success mean that the provider failed. */
const HOPELESS = 5;

export interface PartReader<Part, Opened> {
  /** What to call the part's series when it cannot even be opened. */
  slug(part: Part): string;
  open(part: Part): Promise<Opened>;
  slugs(opened: Opened): string[];
  read(opened: Opened): AsyncIterable<SourceItem> | Iterable<SourceItem>;
}

/** Two parts give a series of one name: the definition must tell them apart, so the run stops. */
export class SlugClash extends Error {
  override name = 'SlugClash';
}

/** Two columns or codes can make one slug too; figures of two series must never meet in one. */
function claim(slug: string, part: number, claimed: Map<string, number>): void {
  const owner = claimed.get(slug);
  const message = `two series would be called "${slug}": give one a slug of its own`;
  if (owner === part) throw new Error(message);
  if (owner !== undefined) throw new SlugClash(message);
  claimed.set(slug, part);
}

const endsRun = (error: unknown): boolean => error instanceof SlugClash || localFault(error) !== null;
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Reads the parts in order.
 * @throws {SlugClash} when two parts give a series of one name.
 * @throws the first part's error when the first five, or all of fewer, fail; the abort reason when cancelled.
 */
export async function* readParts<Part, Opened>(
  context: Pick<ConnectorContext<unknown>, 'signal' | 'log'>,
  parts: readonly Part[],
  reader: PartReader<Part, Opened>,
): AsyncGenerator<SourceItem, void, undefined> {
  const claimed = new Map<string, number>();
  let firstError: unknown = null;
  let good = 0;
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
      good += 1;
    } catch (error) {
      context.signal.throwIfAborted();
      if (endsRun(error)) throw error;
      firstError ??= error;
      const reason = reasonOf(error);
      context.log.warn({ part: slugs[0], reason }, 'part failed');
      // At once, while the series that broke off is still the open one: none of its rows may be kept.
      for (const slug of slugs) yield { kind: 'failed', slug, reason };
      if (good === 0 && number + 1 >= HOPELESS) throw firstError;
    }
  }
  if (good === 0 && firstError) throw firstError;
}
