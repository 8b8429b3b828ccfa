/** A call that came as an HTTP request: what it asks for, and how its answer is rendered, cached and found again. */
import type { IncomingMessage } from 'node:http';
import type { Call, RepeatableAs } from '../../core/call.ts';
import type { Result } from '../../core/result.ts';
import { type Content, isPriced, type Operation, type WholeFile } from '../../operations/operation.ts';
import type { ParameterReading } from '../../operations/parameters/parameter-reader.ts';
import { NO_PARAMETERS } from '../../operations/parameters/parameters.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import type { Snapshot } from '../../snapshot/editions/snapshot.ts';
import { type FileHeaders, sentBytes } from './file-content.ts';
import { repeatableAs, withIdempotencyKey } from './idempotency-key.ts';
import { prefersStrict, strictnessHeaders } from './preferences.ts';
import { type Preferences, type Representation, represent } from './representation.ts';
import type { ResponseCache } from './response-cache.ts';
import { effectiveUrl, type MatchedUrl } from './url-routing.ts';

/** What a call needs of the adapter that made it. */
export interface CachingApi {
  readonly publicUrl: string;
  /** Null for a call that still uses a snapshot which is no longer served. */
  responsesOf(snapshot: Snapshot): ResponseCache | null;
}

/**
 * Adapts an HTTP request to `Call`. Fields are declared only: Node would define each of them anew for every request, which
 * costs a tenth of a cached answer.
 */
export class HttpCall implements Call<Representation>, Preferences {
  declare readonly operation: Operation;
  declare readonly requestId: string;
  declare readonly authorization: string | undefined;
  declare readonly acceptEncoding: string | undefined;
  declare readonly ifNoneMatch: string | undefined;
  declare private readonly api: CachingApi;
  declare private readonly addressOf: (request: IncomingMessage) => string;
  declare private readonly request: IncomingMessage;
  declare private readonly matched: MatchedUrl;

  constructor(
    api: CachingApi,
    addressOf: (request: IncomingMessage) => string,
    request: IncomingMessage,
    requestId: string,
    matched: MatchedUrl,
  ) {
    const { headers } = request;
    this.operation = matched.route.operation;
    this.requestId = requestId;
    this.authorization = headers.authorization;
    this.acceptEncoding = headers['accept-encoding'];
    this.ifNoneMatch = headers['if-none-match'];
    this.api = api;
    this.addressOf = addressOf;
    this.request = request;
    this.matched = matched;
  }

  get file(): FileHeaders {
    const { method, headers } = this.request;
    const ifRange = headers['if-range'];
    return {
      isHead: method === 'HEAD',
      range: headers.range,
      ifRange: ifRange === undefined ? undefined : String(ifRange),
    };
  }

  get asksForPart(): boolean {
    return this.request.headers.range !== undefined;
  }

  bytesOf(file: WholeFile): number | 'unsatisfiable' {
    return sentBytes(file, this);
  }

  get isTagged(): boolean {
    return this.operation.isCacheable;
  }

  get route(): string {
    return this.matched.route.name;
  }

  get publicUrl(): string {
    return this.api.publicUrl;
  }

  get path(): Readonly<Record<string, string>> {
    return this.matched.path;
  }

  address(): string {
    return this.addressOf(this.request);
  }

  origin(): string | undefined {
    return this.request.headers.origin;
  }

  get url(): string {
    const { matched, request } = this;
    matched.effectiveUrl ??= effectiveUrl(request.url ?? '', matched.route.readQuery.known);
    return matched.effectiveUrl;
  }

  readQuery(): ParameterReading<unknown> {
    const reading = this.readUrl();
    const sent = this.request.headers['idempotency-key'];
    return sent === undefined || !isPriced(this.operation) ? reading : withIdempotencyKey(reading, sent);
  }

  get repeatable(): RepeatableAs | null {
    return repeatableAs(this.request, this.matched.route);
  }

  private readUrl(): ParameterReading<unknown> {
    const { route, query } = this.matched;
    if (this.isStrict) return route.readQuery(query, true);
    this.matched.reading ??= route.readQuery(query);
    return this.matched.reading;
  }

  private get isStrict(): boolean {
    return prefersStrict(this.request.headers.prefer);
  }

  /** Headers of this answer alone, which no cached one may hold. */
  headersOf({ kind }: Result<Representation>): readonly string[] {
    if (kind === 'error') return [];
    const { isStrict } = this;
    if (!isStrict && this.matched.query === NO_PARAMETERS) return [];
    const reading = this.readQuery();
    const ignored = reading.ok ? reading.ignored : [];
    return isStrict || ignored.length > 0 ? strictnessHeaders(isStrict, ignored) : [];
  }

  cached(snapshot: Snapshot): Representation | null {
    if (!this.operation.isCacheable || (this.isStrict && !this.readQuery().ok)) return null;
    return this.api.responsesOf(snapshot)?.find(this.url, this) ?? null;
  }

  render(
    content: Content,
    snapshot: Snapshot,
    edition: Edition | undefined,
  ): Representation | Promise<Representation> {
    const made = represent(content, this, snapshot, edition);
    if (!this.operation.isCacheable || !this.matched.isRepeated) return made;
    const store = (representation: Representation): Representation => {
      if (representation.status === 404) return representation;
      const isResident = content.kind === 'file' && snapshot.routes.isResident(content.path);
      this.api.responsesOf(snapshot)?.set(this.url, this, representation, isResident);
      return representation;
    };
    return made instanceof Promise ? made.then(store) : store(made);
  }
}
