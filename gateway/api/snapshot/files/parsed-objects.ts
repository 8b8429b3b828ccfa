/**
 * What is parsed from published files, once for all editions that have a file. An edition keeps what it uses; here are
 * only weak references, so what no open edition uses is freed.
 */
import type { FileRef } from '../../../../data/schema/snapshot.ts';

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
