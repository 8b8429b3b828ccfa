/** The client: one verb for each thing that can be asked for. */
import { type Document, readFigures, readTable } from './answers.ts';
import { type DataFile, openFile } from './data-file.ts';
import { keysOf, type Lock } from './lock.ts';
import {
  type Aggregate,
  type AsOf,
  asOfText,
  type Column,
  type DataQuestion,
  dataQuery,
  given,
  type Query,
  type Since,
  sinceText,
  transformQuery,
  type Words,
  wholeNumber,
  wordsOf,
} from './questions.ts';
import { type LogKey, parseKeys } from './receipts/checkpoints.ts';
import type { Bytes } from './receipts/crypto.ts';
import type * as records from './records.ts';
import { Session } from './session.ts';
import { askRevisions, judge } from './several-calls.ts';
import { Table } from './table.ts';
import { type Surroundings, SYSTEM, Transport } from './transport.ts';

const DEFAULT_URL = 'http://localhost:8080';

/** What a client is made with. */
export interface ClientOptions {
  /** Of the API. Catalogue calls need none. In a page everybody can read it: bind it to the page's origin. */
  key?: string | undefined;
  /** Of the service; default `http://localhost:8080`. */
  baseUrl?: string | undefined;
  /** Every figure then comes from the edition that it pins. */
  lock?: Lock | undefined;
  /** No call may cost more, unless it says otherwise itself. */
  maxCredits?: number | undefined;
  /** How long a call may go without a byte; default a minute. */
  timeoutMs?: number | undefined;
  /** How often a failed call is repeated, at most 5; default 4. A repeat is never paid again. */
  retries?: number | undefined;
}

/** Of every verb that answers from an edition. */
export interface Dated {
  /** Figures as they were then. */
  asOf?: AsOf;
}

/** Of every verb that costs credits. */
export interface Bounded {
  maxCredits?: number;
}

export type DataOptions = DataQuestion & Dated & Bounded;
/** Which part of the catalogue; default all of it. */
export interface CatalogueFilter {
  topic?: string;
  provider?: string;
  limit?: number;
}
export type Included = 'sources' | 'quality' | 'twins' | 'breaks' | 'editions';
/** Which figures a feed link has, and on which terms. */
export type FeedOptions = DataQuestion &
  Dated & {
    /** Most credits that it may spend in a calendar month. */
    monthlyCap: number;
    /** Default `csv`. */
    format?: 'csv' | 'xlsx' | 'json';
    /** A date or a moment; default never. */
    expires?: AsOf;
  };
export type CitationStyle = 'bibtex' | 'csl-json';
/** A figure that somebody wrote down: `indicator,country,year,value`. The digits of a text tell how it is rounded. */
export type Claim =
  | string
  | readonly [indicator: string, country: string, year: number, value: number | string];

/** A comma separates: one within a name says nothing that a space does not. */
const claimText = ([indicator, country, ...rest]: Exclude<Claim, string>): string =>
  [indicator, country.replaceAll(',', ' '), ...rest].join(',');

/** Rows with the usual columns. */
interface Usual {
  layout?: 'long';
  fields?: never;
}
type OfGroups = { aggregate: Aggregate } | { group: Words };
type Figures<Row> = Promise<Table<Row, records.DataMeta>>;

/**
 * A client of one service. Verbs throw ApiError for a refusal, which costs nothing, ConnectionFailed where the service
 * cannot be reached, LockError where it does not serve what the lock pins, and TypeError for a wrong parameter.
 */
export class Almanac {
  readonly #session: Session;

  constructor(options: ClientOptions = {}, surroundings: Surroundings = SYSTEM) {
    const {
      key,
      baseUrl = DEFAULT_URL,
      lock = null,
      maxCredits = null,
      timeoutMs = 60_000,
      retries = 4,
    } = options;
    if (maxCredits !== null) wholeNumber(maxCredits, 'maxCredits');
    const transport = new Transport({ baseUrl, key: key?.trim() || null, timeoutMs, retries }, surroundings);
    this.#session = new Session(transport, lock, maxCredits);
  }

  // --- catalogue, free ------------------------------------------------------------------------------------------------

  /** Series by the words that people use, best first, one for each concept. Always of the newest edition. */
  async search(words: string, { limit = 10 }: { limit?: number } = {}): Promise<records.Found> {
    const query = given({ q: words, limit: wholeNumber(limit, 'limit') });
    const { data, meta } = await this.#session.call('/v1/search', query, (answer) =>
      answer.json<Document<records.Hit[], records.SearchMeta>>(),
    );
    return { ...meta, hits: data };
  }

  /** Indicators by name: all, or those of a topic or a provider. */
  async indicators({ topic, provider, limit }: CatalogueFilter = {}): Promise<records.Indicator[]> {
    const most = limit === undefined ? undefined : wholeNumber(limit, 'limit');
    const query = await this.#session.dated(given({ topic, provider, limit: most }));
    return await this.#session.data('/v1/indicators', query);
  }

  /** An indicator of the catalogue, with what `include` names. */
  async indicator(
    indicator: string,
    { include = [], asOf }: { include?: readonly Included[] } & Dated = {},
  ): Promise<records.IndicatorDetail> {
    const query: Query = include.length === 0 ? [] : [['include', include.join(',')]];
    const path = `/v1/indicators/${encodeURIComponent(indicator)}`;
    return await this.#session.data(path, await this.#session.dated(query, asOf));
  }

  /** All countries by name, or those of a region or an income group. Always of the newest edition. */
  async countries({
    region,
    income_group,
  }: {
    region?: string;
    income_group?: string;
  } = {}): Promise<records.CountryRecord[]> {
    return await this.#session.data('/v1/countries', given({ region, income_group }));
  }

  /** Groups of countries: `@` and the id stands for the members wherever countries are asked for. */
  groups(): Promise<records.Group[]> {
    return this.#session.data('/v1/groups', []);
  }

  /** The topics of the catalogue. `indicators({ topic: slug })` lists what a topic has. */
  topics(): Promise<records.Topic[]> {
    return this.#session.data('/v1/topics', []);
  }

  /** How to cite an indicator in its newest edition, or that of a time, for managers of references. */
  async citation(
    indicator: string,
    { style = 'bibtex', asOf }: { style?: CitationStyle } & Dated = {},
  ): Promise<string> {
    const path = `/v1/indicators/${encodeURIComponent(indicator)}/citation.${style === 'bibtex' ? 'bib' : 'json'}`;
    return await this.#session.call(path, await this.#session.dated([], asOf), (answer) => answer.text());
  }

  /** Credits left. Needs a key. */
  async balance(): Promise<number> {
    return (await this.#session.data<{ balance: number }>('/v1/ping', [])).balance;
  }

  /** Every published snapshot, newest first. */
  editions(): Promise<records.Edition[]> {
    return this.#session.data('/v1/editions', []);
  }

  /** What each snapshot changed, newest first: all after `since`, else the newest thirty. */
  async changes({ since }: { since?: Since } = {}): Promise<records.Change[]> {
    let found: records.Change[] = [];
    let after = sinceText(since);
    for (;;) {
      const { data, meta } = await this.#session.call('/v1/changes', given({ since: after }), (answer) =>
        answer.json<Document<records.Change[], records.ChangesMeta>>(),
      );
      found = [...data, ...found];
      if (after === undefined || !meta.more) return found;
      after = found[0]?.edition;
    }
  }

  // --- figures --------------------------------------------------------------------------------------------------------

  /** Observations of one indicator or of several, or what is derived from them. Costs a credit per row, at least 1. */
  data<Name extends Column>(
    indicator: Words,
    options: DataOptions & { fields: readonly Name[] },
  ): Figures<Pick<records.ChosenRow, Name>>;
  data(indicator: Words, options: DataOptions & { layout: 'wide' }): Figures<records.WideRow>;
  data(
    indicator: Words,
    options: DataOptions & OfGroups & Usual & { names: true },
  ): Figures<records.GroupRow & records.Named>;
  data(indicator: Words, options: DataOptions & OfGroups & Usual): Figures<records.GroupRow>;
  data(
    indicator: Words,
    options: DataOptions & Usual & { names: true; aggregate?: never; group?: never },
  ): Figures<records.Observation & records.Named>;
  data(
    indicator: Words,
    options?: DataOptions & Usual & { aggregate?: never; group?: never },
  ): Figures<records.Observation>;
  data(indicator: Words, options: DataOptions): Figures<records.AnyRow>;
  async data(indicator: Words, options: DataOptions = {}): Figures<object> {
    const { asOf, maxCredits, ...question } = options;
    const indicators = wordsOf(indicator, 'indicator');
    const query = await this.#session.dated(dataQuery(indicators, question), asOf);
    return await this.#session.priced('/v1/data', query, readFigures({ indicators, question }), maxCredits);
  }

  /** What `data` would cost for the same parameters. Free. */
  async price(indicator: Words, { asOf, ...question }: DataQuestion & Dated = {}): Promise<records.Price> {
    const query = await this.#session.dated(dataQuery(wordsOf(indicator, 'indicator'), question), asOf);
    return await this.#session.data('/v1/data', [...query, ['dry_run', 'true']]);
  }

  /**
   * A link to figures for tools that cannot send a key, such as sheets. Free; it pays when its rows have changed. A lost
   * answer is not repeated: `feeds` tells whether the link was made, and `revokeFeed` ends it.
   */
  async makeFeed(
    name: string,
    indicator: Words,
    { monthlyCap, format = 'csv', expires, asOf, ...question }: FeedOptions,
  ): Promise<records.MadeFeed> {
    const query = await this.#session.dated(dataQuery(wordsOf(indicator, 'indicator'), question), asOf);
    const parameters = query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
    const expires_at = expires && asOfText(expires);
    const terms = { name, query: `/v1/data?${parameters}`, format, monthly_cap: monthlyCap, expires_at };
    return await this.#session.data('/v1/feeds', [], { method: 'POST', body: JSON.stringify(terms) });
  }

  /** The feed links of the key with their use, oldest first. */
  feeds(): Promise<records.Feed[]> {
    return this.#session.data('/v1/feeds', []);
  }

  /** Ends a feed link: its next fetch finds nothing. */
  revokeFeed(id: string): Promise<records.Feed> {
    return this.#session.data(`/v1/feeds/${encodeURIComponent(id)}`, [], { method: 'DELETE' });
  }

  /** All countries by one indicator; default in its latest year, which `meta.year` names. Costs 1 credit. */
  async rank(
    indicator: string,
    { year, transform, asOf, maxCredits }: { year?: number; transform?: Words } & Dated & Bounded = {},
  ): Promise<Table<records.RankingRow, records.RankingMeta>> {
    const years = given({ year: year === undefined ? undefined : wholeNumber(year, 'year') });
    const asked = [...years, ...transformQuery(transform)];
    const path = `/v1/rankings/${encodeURIComponent(indicator)}`;
    const query = await this.#session.dated(asked, asOf);
    const read = readTable<records.RankingRow, records.RankingMeta>;
    return await this.#session.priced(path, query, read, maxCredits);
  }

  /** A country, by code or any usual name, with its latest value of every indicator, by topic. Costs 1 credit. */
  async country(
    country: string,
    { topic, asOf, maxCredits }: { topic?: string } & Dated & Bounded = {},
  ): Promise<records.Country> {
    const path = `/v1/countries/${encodeURIComponent(country)}`;
    const query = await this.#session.dated(given({ topic }), asOf);
    return await this.#session.pricedData(path, query, maxCredits);
  }

  /** All figures of an indicator, as the Parquet file in which they are published. Paid once in 24 hours. */
  async file(indicator: string, { asOf, maxCredits }: Dated & Bounded = {}): Promise<DataFile> {
    const name = encodeURIComponent(indicator);
    const query = await this.#session.dated([], asOf);
    return await openFile(this.#session, `/v1/files/${name}.parquet`, query, maxCredits, async (edition) => [
      await this.#session.data<records.IndicatorDetail>(`/v1/indicators/${name}`, edition),
    ]);
  }

  /** All figures of a provider that may be exported, as one file. Paid once in 24 hours. */
  async bundle(provider: string, { asOf, maxCredits }: Dated & Bounded = {}): Promise<DataFile> {
    const path = `/v1/bundles/${encodeURIComponent(provider)}.parquet`;
    const query = await this.#session.dated([], asOf);
    return await openFile(this.#session, path, query, maxCredits, async (edition) => {
      const listed = await this.#session.data<records.Indicator[]>('/v1/indicators', [
        ['provider', provider],
        ...edition,
      ]);
      return listed.filter(({ access_tier }) => access_tier === 'open');
    });
  }

  /**
   * Every change of a figure since an edition, a date or a lock. Costs a credit per row, at least 1 an indicator.
   * @param indicator ids, or a table of `data`: then its indicators, countries and years
   */
  async revisions(
    indicator: Words | Table<unknown>,
    {
      since,
      maxCredits,
      ...extent
    }: Pick<DataQuestion, 'countries' | 'years'> & { since?: Since } & Bounded = {},
  ): Promise<Table<records.Revision, readonly records.RevisionsMeta[]>> {
    const asked =
      indicator instanceof Table
        ? indicator.asked
        : { indicators: wordsOf(indicator, 'indicator'), question: extent };
    if (asked === null) throw new TypeError('revisions takes a table that `data` answered');
    return await askRevisions(this.#session, asked, since, maxCredits);
  }

  // --- proof ----------------------------------------------------------------------------------------------------------

  /** Judges figures that somebody wrote down, against the newest edition. Costs a credit per claim that can be read. */
  async verify(claims: readonly Claim[], { maxCredits }: Bounded = {}): Promise<records.Verdict[]> {
    const texts = claims.map((claim) => (typeof claim === 'string' ? claim : claimText(claim)));
    return await judge(this.#session, texts, maxCredits);
  }

  /**
   * The proof that a figure was published, as it came: keep it, and verify it offline. Costs 1 credit; that of a derived
   * figure, one for each row in it.
   * @param country with `aggregate` a group such as `@eu`
   */
  async receipt(
    indicator: string,
    country: string,
    year: number,
    {
      transform,
      aggregate,
      asOf,
      maxCredits,
    }: { transform?: Words; aggregate?: 'declared' } & Dated & Bounded = {},
  ): Promise<Bytes> {
    const asked = given({ indicator, country, year: wholeNumber(year, 'year'), aggregate });
    const query = await this.#session.dated([...asked, ...transformQuery(transform)], asOf);
    return await this.#session.priced('/v1/receipts', query, (answer) => answer.bytes(), maxCredits);
  }

  /** The keys that sign the log: those that the lock pins, else those that the service publishes. */
  async keys(): Promise<LogKey[]> {
    const { lock } = this.#session;
    return lock === null ? await parseKeys(await this.keysDocument()) : await keysOf(lock);
  }

  /** The list of keys as the service publishes it, to be kept beside receipts. */
  keysDocument(): Promise<string> {
    return this.#session.keysDocument();
  }

  // --- lock -----------------------------------------------------------------------------------------------------------

  /** Pins the newest edition, or the one named. Free. */
  lock(edition?: string): Promise<Lock> {
    return this.#session.pin(edition);
  }

  /** Throws LockError unless the service still serves what the lock pins. The first call does it, too. Free. */
  checkLock(): Promise<void> {
    return this.#session.checkLock();
  }
}
