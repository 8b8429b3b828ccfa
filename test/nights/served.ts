/** What a gateway serves of every indicator and country, taken over its public interface alone. */
import { hash } from 'node:crypto';
import { Agent, request } from 'undici';
import { inParallel } from '../../data/runtime/in-parallel.ts';

const PARALLEL = 4;
const LIST = '/v1/indicators';
const ROWS = '/v1/data?indicator=';
/** Of an edition that is served again, one answer in so many is asked for again. */
const ASKED_AGAIN = 10;

/** The `data` member of each answer as it stands in the body, hashed, with its status; by path and query. */
export type Answers = ReadonlyMap<string, string>;

export interface Answer {
  status: number;
  /** `X-Snapshot`. */
  edition: string;
  bytes: Buffer;
}

const DATA = Buffer.from('{"data":');
const META = Buffer.from(',"meta":{');

/** The `data` member of a body byte for byte; the whole body when there is none. */
export function dataMember(body: Buffer): Buffer {
  const isAnswer = body.subarray(0, DATA.length).equals(DATA);
  return isAnswer ? body.subarray(DATA.length, body.lastIndexOf(META)) : body;
}

/** Today's id of an indicator stands in the answers of every edition. */
export interface Rename {
  from: string;
  to: string;
}

const isOther = (path: string): boolean => path !== LIST && !path.startsWith(ROWS);

/** The list of indicators and the rows of each, and one in so many of the other answers. @param from the first of those */
export function withSomeOthers(answers: Answers, oneIn: number, from: number): Answers {
  const others = [...answers.keys()].filter(isOther);
  const left = new Set(others.filter((_, at) => (at + from) % oneIn !== 0));
  return new Map([...answers].filter(([path]) => !left.has(path)));
}

const withAsOf = (path: string, asOf: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}as_of=${encodeURIComponent(asOf)}`;

/** A caller with a key. */
export class Caller {
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ connections: PARALLEL });

  readonly #rename: Rename;

  /** @param rename that is recorded under the id that the indicator will have */
  constructor(url: string, key: string, rename: Rename) {
    this.#url = url;
    this.#key = key;
    this.#rename = rename;
  }

  async get(path: string): Promise<Answer> {
    const { statusCode, headers, body } = await request(this.#url + path, {
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#key}` },
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    return { status: statusCode, edition: String(headers['x-snapshot']), bytes };
  }

  /**
   * Every answer about indicators and countries that is served now.
   * @param before those of the edition when it was served first: some are asked for again, and must be the same
   */
  async record(before?: Answers): Promise<Answers> {
    if (before === undefined) return this.#recordAll();
    const some = new Map([...before].filter((_, at) => at % ASKED_AGAIN === 0));
    const found = await this.differences(some, null, null);
    if (found.length > 0) throw new Error(`not served as before: ${found.join('; ')}`);
    return before;
  }

  async #recordAll(): Promise<Answers> {
    const paths = await this.#paths();
    // In this order, whichever comes first.
    const answers = new Map(paths.map((path) => [path, '']));
    await inParallel(paths, PARALLEL, async (path) => {
      answers.set(path, this.#digest(await this.get(path)));
    });
    return answers;
  }

  /**
   * The paths whose answers as of a moment are not those that were recorded, with what differs.
   * @param asOf null for what is served now
   * @param edition that must answer; null for any
   */
  async differences(recorded: Answers, asOf: string | null, edition: string | null): Promise<string[]> {
    const found: string[] = [];
    await inParallel(recorded, PARALLEL, async ([plain, digest]) => {
      const path = asOf === null ? plain : withAsOf(plain, asOf);
      const answer = await this.get(path);
      if (this.#digest(answer) !== digest)
        found.push(`${path}: ${answer.status}, recorded ${digest.slice(0, 3)}`);
      else if (edition !== null && answer.edition !== edition)
        found.push(`${path}: edition ${answer.edition} instead of ${edition}`);
    });
    return found.sort();
  }

  #digest({ status, bytes }: Answer): string {
    const data = this.#renamed(dataMember(bytes));
    return `${status} ${hash('sha256', data)}`;
  }

  #renamed(data: Buffer): Buffer | string {
    const { from, to } = this.#rename;
    return data.includes(`"${from}"`) ? data.toString().replaceAll(`"${from}"`, `"${to}"`) : data;
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }

  async #paths(): Promise<string[]> {
    const indicators = await this.ids(LIST, 'id');
    const countries = await this.ids('/v1/countries', 'iso3');
    return [
      LIST,
      ...indicators.flatMap((id) => [ROWS + id, `/v1/rankings/${id}`, `/v1/indicators/${id}`]),
      ...countries.map((iso3) => `/v1/countries/${iso3}`),
    ];
  }

  async ids(path: string, member: string): Promise<string[]> {
    const { data } = JSON.parse((await this.get(path)).bytes.toString()) as {
      data: Record<string, string>[];
    };
    return data.map((one) => one[member] ?? '');
  }
}
