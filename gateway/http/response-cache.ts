/**
 * Free answers, kept ready to send by URL and by the coding that was wanted: the whole body, and what is told to those who
 * have it already. Each belongs to a snapshot and goes with it. So a free answer costs what it costs to send it, whether its
 * body was a file, a page of a sorted list or the result of a search, from the third asking on: what is asked for once is
 * not kept.
 */
import { ByteCache } from '../snapshot/byte-cache.ts';
import type { Encoding } from '../snapshot/route-files.ts';
import { chooseEncoding } from './negotiation.ts';
import { isUnchanged, lengthOf, type Representation, unchanged, type Wishes } from './representation.ts';

/** URLs that are longer are hardly asked for twice. */
const URL_LENGTH_MOST = 512;
/** What an entry takes beyond its body: lists of headers, names, places in tables. */
const ENTRY_BYTES = 2_048;

/** One coding of an answer. */
interface Forms {
  /** Not there before somebody asked for it. */
  whole: Representation | null;
  unchanged: Representation;
  bytes: number;
}

/** By the coding that was wanted. All have all fields from the start: Node looks into objects of one shape sooner. */
type Kept = Record<Encoding, Forms | null>;

const NONE: Kept = { br: null, zstd: null, gzip: null, identity: null };

const bytesOf = (kept: Kept): number =>
  Object.values(kept).reduce((total, forms) => total + (forms?.bytes ?? 0), 0);

/** By name: measured, to look up a field by a name that changes costs one in a hundred of a whole answer. */
function formsFor(kept: Kept, wanted: Encoding): Forms | null {
  if (wanted === 'br') return kept.br;
  if (wanted === 'gzip') return kept.gzip;
  return wanted === 'identity' ? kept.identity : kept.zstd;
}

export class ResponseCache {
  readonly #byUrl: ByteCache<Kept>;
  /** All codings of one answer fit together. */
  readonly #largest: number;

  constructor(maxBytes: number) {
    this.#byUrl = new ByteCache(maxBytes, bytesOf);
    this.#largest = maxBytes / 4;
  }

  find(url: string, { acceptEncoding, ifNoneMatch }: Wishes): Representation | null {
    const kept = this.#byUrl.peek(url);
    const forms = kept === undefined ? null : formsFor(kept, chooseEncoding(acceptEncoding));
    if (forms === null) return null;
    return ifNoneMatch !== undefined && isUnchanged(forms.unchanged, ifNoneMatch)
      ? forms.unchanged
      : forms.whole;
  }

  /** @param isShared the body is in memory whether it is kept here or not. */
  keep(url: string, { acceptEncoding }: Wishes, made: Representation, isShared: boolean): void {
    const bytes = ENTRY_BYTES + (isShared && typeof made.content !== 'string' ? 0 : lengthOf(made.content));
    if (url.length > URL_LENGTH_MOST || bytes > this.#largest) return;
    const kept = this.#byUrl.peek(url) ?? { ...NONE };
    const wanted = chooseEncoding(acceptEncoding);
    if (made.status === 200) kept[wanted] = { whole: made, unchanged: unchanged(made), bytes };
    else kept[wanted] ??= { whole: null, unchanged: made, bytes };
    this.#byUrl.keep(url, kept);
  }

  clear(): void {
    this.#byUrl.clear();
  }
}
