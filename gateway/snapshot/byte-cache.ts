/**
 * An LRU cache bounded by bytes whose values are made on demand, once for all callers that wait at the same time.
 * A value larger than the whole budget is handed out and not kept.
 */
import { LRUCache } from 'lru-cache';

export class ByteCache<Value extends NonNullable<unknown>> {
  readonly #cache: LRUCache<string, Value>;
  readonly #pending = new Map<string, Promise<Value>>();

  constructor(maxBytes: number, bytesOf: (value: Value) => number) {
    // The library counts in whole units of at least one.
    const sizeCalculation = (value: Value): number => Math.max(1, Math.ceil(bytesOf(value)));
    this.#cache = new LRUCache({ maxSize: Math.max(1, Math.floor(maxBytes)), sizeCalculation });
  }

  get bytes(): number {
    return this.#cache.calculatedSize;
  }

  /** The cached value; counts as a use. */
  get(key: string): Value | undefined {
    return this.#cache.get(key);
  }

  /** Adds a value, or replaces one, also to measure it again after it grew. */
  set(key: string, value: Value): void {
    // An entry that is replaced by itself keeps its old size.
    this.#cache.delete(key);
    this.#cache.set(key, value);
  }

  /**
   * The cached value, or the one that `make` gives; a failure is not cached.
   * @param keep false: hand the value to all who wait now, without caching it.
   */
  getOrMake(key: string, make: () => Promise<Value>, keep = true): Value | Promise<Value> {
    return this.#cache.get(key) ?? this.#pending.get(key) ?? this.#make(key, make, keep);
  }

  /** Whether so many bytes fit without evicting anything. */
  hasRoom(bytes: number): boolean {
    return this.#cache.calculatedSize + bytes <= this.#cache.maxSize;
  }

  /** The key that would be evicted first. */
  leastRecent(): string | undefined {
    for (const key of this.#cache.rkeys()) return key;
    return undefined;
  }

  clear(): void {
    this.#cache.clear();
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
}
