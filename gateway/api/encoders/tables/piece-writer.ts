/** Collects what a file consists of and hands it over in pieces. Offsets count on. */
import { ByteWriter } from 'hyparquet-writer';

export class PieceWriter extends ByteWriter {
  #pieces: Uint8Array[] = [];

  /** Appends bytes that nobody writes to any more, without copying them. */
  give(bytes: Uint8Array): void {
    this.#pieces.push(this.#copied(), bytes);
    this.offset += bytes.length;
  }

  /** What was written since the last call. */
  taken(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    return Buffer.concat([...pieces, this.#copied()]);
  }

  #copied(): Uint8Array {
    const copied = Buffer.from(this.getBytes());
    this.index = 0;
    return copied;
  }
}
