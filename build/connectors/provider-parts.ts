/**
 * A provider that comes in parts (charts, packages, files): one bad part never loses the others.
 *
 * A part that cannot be opened, or breaks off while it is read, becomes `failed` items for the series it would have
 * given. When none of the first parts works the provider itself is down or has changed its layout, so the run stops
 * with that error instead of asking for hundreds of files in vain.
 */
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

/** Two columns or codes can make one slug; figures of two series must never meet in one. */
function claim(slug: string, claimed: Set<string>): void {
  if (claimed.has(slug)) throw new Error(`two series would be called "${slug}": give one a slug of its own`);
  claimed.add(slug);
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Reads the parts in order.
 * @throws the first part's error when the first five, or all of fewer, fail; the abort reason when cancelled.
 */
export async function* readParts<Part, Opened>(
  context: Pick<ConnectorContext<unknown>, 'signal' | 'log'>,
  parts: readonly Part[],
  reader: PartReader<Part, Opened>,
): AsyncGenerator<SourceItem, void, undefined> {
  const failures: SourceItem[] = [];
  const claimed = new Set<string>();
  let firstError: unknown = null;
  let good = 0;
  let bad = 0;
  for (const part of parts) {
    context.signal.throwIfAborted();
    let slugs = [reader.slug(part)];
    try {
      const opened = await reader.open(part);
      slugs = reader.slugs(opened);
      for await (const item of reader.read(opened)) {
        if (item.kind === 'indicator') claim(item.entry.slug, claimed);
        yield item;
      }
      good += 1;
    } catch (error) {
      context.signal.throwIfAborted();
      firstError ??= error;
      const reason = reasonOf(error);
      context.log.warn({ part: slugs[0], reason }, 'part failed');
      failures.push(...slugs.map((slug): SourceItem => ({ kind: 'failed', slug, reason })));
      bad += 1;
      if (good === 0 && bad >= HOPELESS) throw firstError;
    }
  }
  if (good === 0 && firstError) throw firstError;
  yield* failures;
}
