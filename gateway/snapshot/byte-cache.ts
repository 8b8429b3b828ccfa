/**
 * A cache bounded by bytes: the least recently used entries leave first.
 *
 * Values are made on demand and once, however many ask at the same time. What is larger than the whole budget is
 * handed out and not kept.
 */
export class ByteCache<Value> {
  readonly #maxBytes: number;
  readonly #bytesOf: (value: Value) => number;
  readonly #entries = new Map<string, { value: Value; bytes: number }>();
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
    this.#entries.delete(key);
    this.#entries.set(key, entry);
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
    return this.#entries.keys().next().value;
  }

  /** Measures a value again after it grew. */
  remeasure(key: string, value: Value): void {
    if (this.#entries.get(key)?.value === value) this.#keep(key, value);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #make(key: string, make: () => Promise<Value>, keep: boolean): Promise<Value> {
    const making = make()
      .then((value) => {
        if (keep) this.#keep(key, value);
        return value;
      })
      .finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    return making;
  }

  #keep(key: string, value: Value): void {
    this.#drop(key);
    const bytes = this.#bytesOf(value);
    if (bytes > this.#maxBytes) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}
