/**
 * A map that forgets: two generations of at most `size` entries each. A hit in the old generation moves the entry to
 * the young one; a full young generation becomes the old one, and what was not asked for since is dropped whole.
 * So memory is bounded, what is in use stays, and a hit costs one look-up.
 */
export class BoundedCache<Value> {
  readonly #size: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.#size) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  /** Entries held now, at most twice the size. */
  get count(): number {
    return this.#young.size + this.#old.size;
  }
}
