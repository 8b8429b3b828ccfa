/** Text that is written as bytes: joining strings of a million cells costs more than copying their bytes. */
import { formatDouble } from '../../snapshot/rows/indicator-columns.ts';

const START_BYTES = 512 * 1024;
/** Longer words are copied by `set`, whose call costs more than copying a shorter one byte by byte. */
const COPIED_BYTES = 24;

const MINUS = 45;
const POINT = 46;
const ZERO = 48;
/** Doubles hold every decimal of so many digits, and each as another double. */
const EXACT_BELOW = 1e15;
const SCALES = [1, 10, 100, 1e3, 1e4, 1e5, 1e6] as const;
const INTEGERS_BELOW = 2 ** 31;

export class TextBytes {
  #bytes = Buffer.allocUnsafe(START_BYTES);
  #length = 0;

  /** What was added since the last time. */
  get length(): number {
    return this.#length;
  }

  add(word: Uint8Array): void {
    const { length } = word;
    const start = this.#reserve(length);
    const bytes = this.#bytes;
    if (length > COPIED_BYTES) bytes.set(word, start);
    else for (let at = 0; at < length; at += 1) bytes[start + at] = word[at] as number;
  }

  /** A finite double as `formatDouble` has it, without a string where it has few digits. */
  addDouble(value: number): void {
    if (value !== 0)
      for (const [decimals, scale] of SCALES.entries()) {
        const scaled = Math.round(value * scale);
        if (!(Math.abs(scaled) < EXACT_BELOW)) break;
        // A double is the quotient of one decimal only: with the fewest digits, it is the shortest text.
        if (scaled / scale === value) {
          this.#addDecimal(scaled, decimals);
          return;
        }
      }
    this.#addAscii(formatDouble(value));
  }

  addInteger(value: number): void {
    this.#addDecimal(value, 0);
  }

  /** A copy of what was added since the last time. */
  taken(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  #addAscii(text: string): void {
    const start = this.#reserve(text.length);
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at += 1) bytes[start + at] = text.charCodeAt(at);
  }

  /** An integer, its last digits after a decimal point. */
  #addDecimal(scaled: number, decimals: number): void {
    const sign = scaled < 0 ? 1 : 0;
    let rest = Math.abs(scaled);
    let digits = decimals + 1;
    for (let bound = 10 ** digits; rest >= bound; bound *= 10) digits += 1;
    const length = sign + digits + (decimals > 0 ? 1 : 0);
    const start = this.#reserve(length);
    const bytes = this.#bytes;
    let at = start + length;
    for (let digit = 0; digit < digits; digit += 1) {
      if (digit === decimals && decimals > 0) bytes[--at] = POINT;
      // Whole numbers of 31 bits are divided several times faster.
      const tenth = rest < INTEGERS_BELOW ? ((rest | 0) / 10) | 0 : Math.floor(rest / 10);
      bytes[--at] = ZERO + rest - 10 * tenth;
      rest = tenth;
    }
    if (sign === 1) bytes[start] = MINUS;
  }

  /** @returns where the bytes go */
  #reserve(bytes: number): number {
    const start = this.#length;
    this.#length += bytes;
    if (this.#length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * this.#length);
      this.#bytes.copy(grown, 0, 0, start);
      this.#bytes = grown;
    }
    return start;
  }
}
