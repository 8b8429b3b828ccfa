/**
 * The interface of all connectors. A connector turns a provider's files into catalogue entries and raw observations.
 *
 * It knows the provider's format only; ingestion (`build/ingest/`) validates places, years, numbers, duplicates and
 * bounds for all providers alike. It streams: no connector holds a whole provider in memory.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { machineFault } from '../runtime/errors.ts';
import { type Upstream, UpstreamError } from '../upstream/upstream.ts';

/** One figure as upstream writes it. Ingestion parses and validates text. */
export interface RawObservation {
  /** The provider's own code or name of a place. */
  place: string;
  year: number | string;
  /** `null` is a published gap: upstream's null, or a text that the definition lists as missing. */
  value: number | string | null;
  /**
   * The value is null because a wide table has a cell for every place and year, not because upstream says so of this
   * one. Ingestion keeps it only between two years for which the country has a value.
   */
  blank?: boolean;
  ci_lo?: number | string | null;
  ci_hi?: number | string | null;
  /** Default: the definition's `projected_from` decides. */
  projected?: boolean;
  status?: string | null;
  /** Upstream has withdrawn the row. Ingestion counts it and does not store it. */
  withdrawn?: boolean;
  /** Upstream marks the place as a group of places. Ingestion counts it as an aggregate without a look-up. */
  aggregate?: boolean;
  /**
   * The part of the population the figure is for, such as `SEX=FMLE`, when the definition takes another part. Ingestion
   * counts the row, with this text as a sample, and does not store it.
   */
  other_dimension?: string;
}

export type SourceItem =
  /** What upstream calls this edition. Of several names the latest counts. */
  | { kind: 'vintage'; vintage: string }
  /** How many indicators will follow; for progress. */
  | { kind: 'plan'; indicators: number }
  /** Announces a series; precedes its observations. */
  | { kind: 'indicator'; entry: CatalogueEntry }
  /** A batch of observations; the batches of a series are contiguous. */
  | {
      kind: 'observations';
      slug: string;
      rows: RawObservation[];
      /**
       * What these figures come from: the references, as the upstream was asked for them, of every file whose content
       * decides a place, a year, a figure, a flag or a status. Not files of names, units and credits alone, and not
       * lists of files. At least one.
       */
      files: readonly string[];
    }
  /** This series is unreadable; the others continue. */
  | { kind: 'failed'; slug: string; reason: string };

export interface ConnectorContext<Settings> {
  definition: ProviderDefinition;
  settings: Settings;
  upstream: Upstream;
  log: Logger;
  signal: AbortSignal;
}

export interface Connector<Settings = unknown> {
  /** The name by which definitions refer to the connector. */
  readonly protocol: string;
  readonly settings: z.ZodType<Settings>;
  /** Throws when the provider's layout is not the expected one; a single unreadable series is a `failed` item. */
  read(context: ConnectorContext<Settings>): AsyncIterable<SourceItem>;
}

/** A setting that is one text or a list of at least one. */
export const textList = z
  .union([z.string(), z.array(z.string()).min(1)])
  .transform((value) => [value].flat());

/** A setting that is a list of at least one, of settings or of the text under `key` alone. */
export const listOf = <Shape extends z.ZodObject>(one: Shape, key: string) =>
  z.array(z.union([z.string().transform((text) => one.parse({ [key]: text })), one])).min(1);

/** A setting that is the source of a regular expression. */
export const regexSource = z.string().refine(isRegex, 'a regular expression');

function isRegex(source: string): boolean {
  try {
    return Boolean(new RegExp(source, 'iu'));
  } catch {
    return false;
  }
}

/** The later of two edition names that sort by time; null is earlier than any. */
export const laterEdition = (a: string | null, b: string | null | undefined): string | null =>
  b && (a === null || b > a) ? b : a;

/** Failures before any success, or consecutive unreachable parts, after which the run stops. */
const FAILURE_LIMIT = 5;

interface PartReader<Part, Opened> {
  /** The slug to report when the part cannot be opened. */
  slug(part: Part): string;
  open(part: Part): Promise<Opened>;
  slugs(opened: Opened): string[];
  read(opened: Opened): AsyncIterable<SourceItem> | Iterable<SourceItem>;
}

/** Two parts produce the same slug; the definition must rename one, so the run stops. */
class SlugConflictError extends Error {
  override name = 'SlugConflictError';
}

/** Reserves a slug for a part. Two columns of one part can also collide, which fails that part alone. */
function claimSlug(slug: string, part: number, owners: Map<string, number>): void {
  const owner = owners.get(slug);
  const message = `two series would be called "${slug}": give one a slug of its own`;
  if (owner === part) throw new Error(message);
  if (owner !== undefined) throw new SlugConflictError(message);
  owners.set(slug, part);
}

/** Whether a file is unreachable rather than refused with a 4xx status. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.status === null || error.status < 400 || error.status >= 500);

/** Counts failures and decides when the provider as a whole has failed. */
class FailureTracker {
  #first: unknown = null;
  #failed = 0;
  #succeeded = 0;
  #unreachableInARow = 0;

  succeeded(): void {
    this.#succeeded += 1;
    this.#unreachableInARow = 0;
  }

  /** @throws the error that describes the failure of the provider best, once a limit is reached. */
  failed(error: unknown): void {
    this.#first ??= error;
    this.#failed += 1;
    this.#unreachableInARow = isUnreachable(error) ? this.#unreachableInARow + 1 : 0;
    if (this.#succeeded === 0 && this.#failed >= FAILURE_LIMIT) throw this.#first;
    if (this.#unreachableInARow >= FAILURE_LIMIT) throw error;
  }

  /** @throws the first error when all parts failed. */
  end(): void {
    if (this.#succeeded === 0 && this.#failed > 0) throw this.#first;
  }
}

/**
 * Reads a provider that consists of parts (charts, packages, files), in order, so that one unreadable part does not lose
 * the others: it becomes `failed` items for its series. The run stops when the provider is down or has changed its layout,
 * since hundreds of further requests would only delay the nightly run, and at a fault of this machine, such as a full disk.
 * @throws {SlugConflictError} when two parts produce the same slug.
 * @throws the first part's error when the first five, or all of fewer, fail; the last error when five parts in a row are
 * unreachable; the abort reason when cancelled.
 */
export async function* readParts<Part, Opened>(
  context: Pick<ConnectorContext<unknown>, 'signal' | 'log'>,
  parts: readonly Part[],
  reader: PartReader<Part, Opened>,
): AsyncIterable<SourceItem> {
  const owners = new Map<string, number>();
  const tracker = new FailureTracker();
  for (const [number, part] of parts.entries()) {
    context.signal.throwIfAborted();
    let slugs = [reader.slug(part)];
    try {
      const opened = await reader.open(part);
      slugs = reader.slugs(opened);
      for await (const item of reader.read(opened)) {
        if (item.kind === 'indicator') claimSlug(item.entry.slug, number, owners);
        yield item;
      }
      tracker.succeeded();
    } catch (error) {
      context.signal.throwIfAborted();
      if (error instanceof SlugConflictError || machineFault(error) !== null) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      context.log.warn({ part: slugs[0], reason }, 'part failed');
      // Reported at once, while the interrupted series is still the current one, so that none of its rows is kept.
      for (const slug of slugs) yield { kind: 'failed', slug, reason };
      tracker.failed(error);
    }
  }
  tracker.end();
}

/** A response violates its protocol; the message quotes what came instead. */
export class ResponseError extends Error {
  override name = 'ResponseError';
}

const SAMPLE_LENGTH = 120;

/** @throws {ResponseError} when the text is not JSON. */
function parseJson(text: string, reference: string): unknown {
  const body = text.replace(/^\uFEFF/, '').trim();
  if (body === '') throw new ResponseError(`${reference}: an empty response`);
  if (body.startsWith('<')) throw new ResponseError(`${reference}: a page of HTML or XML instead of JSON`);
  try {
    return JSON.parse(body);
  } catch {
    throw new ResponseError(`${reference}: not JSON, or cut off: ${body.slice(0, SAMPLE_LENGTH)}`);
  }
}

/** Fetches and parses one response. */
export async function readJson(upstream: Upstream, reference: string): Promise<unknown> {
  return parseJson(await upstream.text(reference), reference);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The trimmed text of a field; null when it is absent, empty or not text. Numbers become text. */
export function getText(record: unknown, field: string): string | null {
  const value = isObject(record) ? record[field] : undefined;
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}
