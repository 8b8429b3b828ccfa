/** Memory that is used again and again, so that no collector has to look for it: valid until it is asked for once more. */

type Kind = Float64Array | Int32Array | Uint8Array;

export class Scratch<Some extends Kind> {
  readonly #make: new (
    length: number,
  ) => Some;
  #memory: Some;

  constructor(make: new (length: number) => Some) {
    this.#make = make;
    this.#memory = new make(0);
  }

  /** Of so many elements, with any content. */
  of(length: number): Some {
    if (this.#memory.length < length) this.#memory = new this.#make(length);
    return this.#memory.subarray(0, length) as Some;
  }
}
