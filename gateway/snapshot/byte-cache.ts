/**
 * A cache bounded by bytes. When room is needed entries leave in the order they came, but those that were used since they
 * were last looked at are passed over once: so a use costs a look-up and a mark, however often it happens.
 *
 * Values are made on demand and once, however many ask at the same time. What is larger than the whole budget is
 * handed out and not kept.
 */
export class ByteCache<Value> {
  readonly #maxBytes: number;
  readonly #bytesOf: (value: Value) => number;
  /** Those that are looked at first stand first. */
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #making = new Map<string, Promise<Value>>();
  #bytes = 0;

  constructor(maxBytes: number, bytesOf: (value: Value) => number) {
    this.#maxBytes = maxBytes;
    this.#bytesOf = bytesOf;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The value when it is at hand; this counts as a use. */
  peek(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  /**
   * The value at hand, or the one that `make` gives; a failure is not remembered.
   * @param keep false: hand it out to all who ask now, and forget it.
   */
  get(key: string, make: () => Promise<Value>, keep = true): Value | Promise<Value> {
    return this.peek(key) ?? this.#making.get(key) ?? this.#make(key, make, keep);
  }

  /** Whether so many bytes fit without pushing anything out. */
  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.#maxBytes;
  }

  /** The entry that would leave first. */
  oldest(): string | undefined {
    for (const [key, entry] of this.#entries) {
      if (!entry.isUsed) return key;
      entry.isUsed = false;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return undefined;
  }

  /** Measures a value again after it grew. */
  remeasure(key: string, value: Value): void {
    if (this.#entries.get(key)?.value === value) this.keep(key, value);
  }

  /** Puts a value that is at hand in place of what was there. */
  keep(key: string, value: Value): void {
    this.#drop(key);
    const bytes = this.#bytesOf(value);
    if (bytes > this.#maxBytes) return;
    while (!this.hasRoom(bytes)) this.#drop(this.oldest() ?? '');
    this.#entries.set(key, { value, bytes, isUsed: false });
    this.#bytes += bytes;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #make(key: string, make: () => Promise<Value>, keep: boolean): Promise<Value> {
    const making = make()
      .then((value) => {
        if (keep) this.keep(key, value);
        return value;
      })
      .finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    return making;
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}

interface Entry<Value> {
  value: Value;
  bytes: number;
  isUsed: boolean;
}
