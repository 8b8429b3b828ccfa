/** Parses HTTP responses as far as a load generator needs: status, Content-Length and the end of a chunked body. */

/** A response that ends with its headers. */
const NO_BODY = 304;
const HEAD_END = '\r\n\r\n';
const CHUNKED_END = Buffer.from('0\r\n\r\n');

/** Parses the responses of a connection. `push` returns true when a response is complete. */
export class ResponseReader {
  status = 0;
  /** Status line and headers of the current response. */

  head = '';
  #head = '';
  #remaining = 0;
  #chunkedTail: Buffer | null = null;

  push(bytes: Buffer): boolean {
    if (this.status !== 0) return this.#body(bytes);
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) {
      this.#head += bytes.toString('latin1');
      const late = this.#head.indexOf(HEAD_END);
      return late === -1 ? false : this.#start(this.#head, Buffer.from(this.#head.slice(late + 4), 'latin1'));
    }
    return this.#start(this.#head + bytes.toString('latin1', 0, end), bytes.subarray(end + HEAD_END.length));
  }

  reset(): void {
    this.status = 0;
    this.#head = '';
  }

  #start(head: string, body: Buffer): boolean {
    this.status = Number(head.slice(9, 12));
    this.head = head;
    const length = this.status === NO_BODY ? '0' : /content-length: (\d+)/i.exec(head)?.[1];
    this.#chunkedTail = length === undefined ? Buffer.alloc(0) : null;
    this.#remaining = Number(length ?? 0);
    return this.#body(body);
  }

  #body(bytes: Buffer): boolean {
    if (this.#chunkedTail === null) {
      this.#remaining -= bytes.length;
      return this.#remaining <= 0;
    }
    const tail = Buffer.concat([this.#chunkedTail, bytes.subarray(-CHUNKED_END.length)]);
    this.#chunkedTail = tail.subarray(-CHUNKED_END.length);
    return this.#chunkedTail.equals(CHUNKED_END);
  }
}
