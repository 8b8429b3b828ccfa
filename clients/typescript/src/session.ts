/** Calls of one service, under a lock or not, and never dearer than allowed. */
import type { Document } from './answers.ts';
import { LockError } from './errors.ts';
import { checkEdition, checkGrowth, checkLog, type Lock, pin } from './lock.ts';
import { type AsOf, asOfText, type Query, wholeNumber } from './questions.ts';
import type { Edition } from './records.ts';
import type { Answer, Read, Sent, Transport } from './transport.ts';

const KEYS_PATH = '/.well-known/almanac-keys.json';
const EDITIONS_PATH = '/v1/editions';

export class Session {
  readonly lock: Lock | null;
  readonly #transport: Transport;
  readonly #maxCredits: number | null;
  /** Of the first call under the lock; the others wait for it. */
  #lockCheck: Promise<void> | null = null;

  /** @param maxCredits of a call that states no limit itself */
  constructor(transport: Transport, lock: Lock | null, maxCredits: number | null) {
    this.#transport = transport;
    this.lock = lock;
    this.#maxCredits = maxCredits;
  }

  limit(maxCredits: number | undefined): number | null {
    return maxCredits ?? this.#maxCredits;
  }

  call<Result>(path: string, query: Query, read: Read<Result>): Promise<Result> {
    return this.#transport.call(path, query, read);
  }

  /** The member `data` of a free answer. */
  async data<Data>(path: string, query: Query, sent?: Sent): Promise<Data> {
    const read = (answer: Answer) => answer.json<Document<Data, unknown>>();
    return (await this.#transport.call(path, query, read, 'free', sent)).data;
  }

  /** A call that costs credits. One that asks for the pinned edition is answered from it, or throws LockError. */
  priced<Result>(
    path: string,
    query: Query,
    read: Read<Result>,
    maxCredits: number | undefined,
  ): Promise<Result> {
    const limit = this.limit(maxCredits);
    const bounded: Query =
      limit === null ? query : [...query, ['max_credits', wholeNumber(limit, 'maxCredits')]];
    const pinned = this.lock?.edition;
    const isPinned = query.some(([name, value]) => name === 'as_of' && value === pinned);
    const checked = async (answer: Answer): Promise<Result> => {
      const served = answer.headers.get('X-Snapshot');
      if (isPinned && served !== pinned)
        throw new LockError(`The service answered from ${served}, not from ${pinned}, which the lock pins.`);
      return await read(answer);
    };
    return this.#transport.call(path, bounded, checked, 'priced');
  }

  /** The member `data` of an answer that costs credits. */
  async pricedData<Data>(path: string, query: Query, maxCredits: number | undefined): Promise<Data> {
    const read = (answer: Answer) => answer.json<Document<Data, unknown>>();
    return (await this.priced(path, query, read, maxCredits)).data;
  }

  /** Adds the edition: the one asked for, or the pinned one, which is checked once. */
  async dated(query: Query, asOf?: AsOf): Promise<Query> {
    if (this.lock === null) return asOf === undefined ? query : [...query, ['as_of', asOfText(asOf)]];
    if (asOf !== undefined) throw new TypeError(`asOf cannot be given: the lock pins ${this.lock.edition}`);
    this.#lockCheck ??= this.checkLock();
    await this.#lockCheck.catch((error: unknown) => {
      this.#lockCheck = null;
      throw error;
    });
    return [...query, ['as_of', this.lock.edition]];
  }

  /** A lock of the served edition, or of the one named. */
  async pin(edition: string | undefined): Promise<Lock> {
    const [editions, served] = await this.call(EDITIONS_PATH, [], async (answer) => {
      const { data } = await answer.json<Document<Edition[], unknown>>();
      return [data, answer.headers.get('X-Snapshot')] as const;
    });
    const wanted = edition ?? served;
    const found = editions.find(({ id }) => id === wanted);
    if (found === undefined) throw new LockError(`The service has no edition ${wanted}.`);
    return await pin(found, await this.keysDocument(), await this.#checkpoint());
  }

  /** @throws {LockError} */
  async checkLock(): Promise<void> {
    if (this.lock === null) throw new LockError('This client has no lock.');
    checkEdition(this.lock, await this.data<Edition[]>(EDITIONS_PATH, []));
    const heads = await checkLog(this.lock, await this.keysDocument(), await this.#checkpoint());
    const { pinned, present } = heads;
    const sizes: Query = [
      ['from', String(pinned.size)],
      ['to', String(present.size)],
    ];
    const isGrown = pinned.size < present.size;
    const proof = isGrown
      ? await this.call('/v1/log/consistency', sizes, (answer) => answer.text())
      : undefined;
    await checkGrowth(heads, proof);
  }

  keysDocument(): Promise<string> {
    return this.#transport.call(KEYS_PATH, [], (answer) => answer.text(), 'public');
  }

  #checkpoint(): Promise<string> {
    return this.#transport.call('/v1/log/checkpoint', [], (answer) => answer.text(), 'public');
  }
}
