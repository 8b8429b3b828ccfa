/** What stays in memory: values within a budget of bytes, parsed files as long as an open edition uses them, and single values. */
import type { FileRef } from '../../../../data/schema/snapshot.ts';

/**
 * A cache bounded by bytes, with second-chance eviction: entries leave in insertion order, but one that was used since it
 * was last considered is passed over once. A hit costs a look-up and a mark. `lru-cache` reorders on every hit, which cost
 * 5 % of a cached answer (`npm run bench -- --only cached`).
 *
 * Values are made on demand, once for all callers that wait at the same time. A value larger than the whole budget is
 * handed out and not kept.
 */
export class ByteCache<Value> {
  readonly #maxBytes: number;
  readonly #bytesOf: (value: Value) => number;
  /** Next to be considered for eviction first. */
  readonly #entries = new Map<string, { value: Value; bytes: number; isUsed: boolean }>();
  readonly #pending = new Map<string, Promise<Value>>();
  #bytes = 0;

  constructor(maxBytes: number, bytesOf: (value: Value) => number) {
    this.#maxBytes = maxBytes;
    this.#bytesOf = bytesOf;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The cached value; counts as a use. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  /** Adds a value, or replaces one, also to measure it again after it grew. */
  set(key: string, value: Value): void {
    this.#delete(key);
    const bytes = this.#bytesOf(value);
    if (bytes > this.#maxBytes) return;
    while (this.#bytes + bytes > this.#maxBytes) this.#delete(this.#nextEvicted() ?? '');
    this.#entries.set(key, { value, bytes, isUsed: false });
    this.#bytes += bytes;
  }

  /**
   * The cached value, or the one that `make` gives; a failure is not cached.
   * @param keep false: hand the value to all who wait now, without caching it.
   */
  getOrMake(key: string, make: () => Promise<Value>, keep = true): Value | Promise<Value> {
    return this.get(key) ?? this.#pending.get(key) ?? this.#make(key, make, keep);
  }

  /** The key that would be evicted first. */
  #nextEvicted(): string | undefined {
    for (const [key, entry] of this.#entries) {
      if (!entry.isUsed) return key;
      entry.isUsed = false;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return undefined;
  }

  /** Drops the entries whose key begins so. */
  deleteAll(prefix: string): void {
    for (const key of [...this.#entries.keys()]) if (key.startsWith(prefix)) this.#delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #make(key: string, make: () => Promise<Value>, keep: boolean): Promise<Value> {
    const pending = make()
      .then((value) => {
        if (keep) this.set(key, value);
        return value;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    return pending;
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}

/** @returns gives what is made when it is first wanted; a failure is not kept. */
export function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}

/**
 * What is parsed from published files, once for all editions that have a file. An edition keeps what it uses; here are
 * only weak references, so what no open edition uses is freed.
 */
export class ParsedObjects {
  readonly #known = new Map<string, WeakRef<object>>();
  readonly #pending = new Map<string, Promise<object>>();
  readonly #freed = new FinalizationRegistry<string>((key) => {
    if (this.#known.get(key)?.deref() === undefined) this.#known.delete(key);
  });

  /**
   * @param form name of the parsed form; `make` gives the same for equal content and form.
   * @param make reads and parses the file; a failure is not kept.
   */
  get<Parsed extends object>(
    { sha256 }: FileRef,
    form: string,
    make: () => Promise<Parsed>,
  ): Parsed | Promise<Parsed> {
    const key = `${form} ${sha256}`;
    // Equal keys have equal forms, so the type is that of the first caller.
    const known = this.#known.get(key)?.deref() as Parsed | undefined;
    return known ?? (this.#pending.get(key) as Promise<Parsed> | undefined) ?? this.#make(key, make);
  }

  #make<Parsed extends object>(key: string, make: () => Promise<Parsed>): Promise<Parsed> {
    const pending = make()
      .then((parsed) => {
        this.#known.set(key, new WeakRef(parsed));
        this.#freed.register(parsed, key);
        return parsed;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    return pending;
  }
}
