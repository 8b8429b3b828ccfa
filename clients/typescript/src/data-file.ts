/** A published Parquet file, read whole or while it arrives. */
import { provenanceOf, toSeries } from './answers.ts';
import { ConnectionFailed } from './errors.ts';
import type { Query } from './questions.ts';
import { type Bytes, sha256, toHex } from './receipts/crypto.ts';
import type { Indicator } from './records.ts';
import type { Session } from './session.ts';
import { type Provenance, Sourced } from './table.ts';
import type { Answer } from './transport.ts';

/** Read it once, by `bytes` or by `stream`. A file that broke off is asked for again with the same call: paid once in 24 hours. */
export class DataFile extends Sourced {
  /** Of the content: 64 hexadecimal digits. */
  readonly sha256: string;
  /** In bytes; null where the service does not say. */
  readonly size: number | null;
  readonly #answer: Answer;

  constructor(answer: Answer, provenance: Provenance) {
    super(provenance);
    this.#answer = answer;
    // The tag of a published file is its SHA-256.
    this.sha256 = (answer.headers.get('ETag') ?? '').replaceAll('"', '');
    const length = answer.headers.get('Content-Length');
    this.size = length === null ? null : Number(length);
  }

  /** The whole content, compared with its hash. @throws {ConnectionFailed} */
  async bytes(): Promise<Bytes> {
    const content = await this.#answer.bytes();
    const found = toHex(await sha256(content));
    if (found !== this.sha256)
      throw new ConnectionFailed(`The file arrived with the hash ${found}, not ${this.sha256}.`);
    return content;
  }

  /** The content piece by piece; fails with ConnectionFailed where it breaks off. Its hash is compared by who reads it. */
  stream(): ReadableStream<Bytes> {
    const pieces = this.#answer.pieces();
    return new ReadableStream<Bytes>({
      async pull(controller) {
        const { value, done } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return(undefined);
      },
    });
  }
}

/** Asks for a file, and for the records of the indicators in it, as of the same edition. */
export async function openFile(
  session: Session,
  path: string,
  query: Query,
  maxCredits: number | undefined,
  describe: (edition: Query) => Promise<Indicator[]>,
): Promise<DataFile> {
  const answer = await session.priced(path, query, async (one) => one, maxCredits);
  const described = await describe([['as_of', answer.headers.get('X-Snapshot') ?? '']]);
  return new DataFile(answer, provenanceOf(answer.headers, null, described.map(toSeries)));
}
