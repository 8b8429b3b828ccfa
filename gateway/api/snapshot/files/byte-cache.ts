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
    while (!this.hasRoom(bytes)) this.#delete(this.nextEvicted() ?? '');
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

  /** Whether so many bytes fit without evicting anything. */
  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.#maxBytes;
  }

  /** The key that would be evicted first. */
  nextEvicted(): string | undefined {
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
