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
import { describeError, machineFault } from '../runtime/errors.ts';
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

/** The later of two edition names that sort by time; null is earlier than any. */
export const laterEdition = (a: string | null, b: string | null | undefined): string | null =>
  b && (a === null || b > a) ? b : a;

/** Failures before any success, or consecutive unreachable parts, after which the run stops. */
const FAILURE_LIMIT = 5;

interface OpenPart {
  /** The slugs of its series, to report when it fails while it is read. Default, also when empty: that of the part. */
  slugs?: readonly string[];
  items: AsyncIterable<SourceItem> | Iterable<SourceItem>;
}

/** Two parts produce the same slug; the definition must rename one, so the run stops. */
class SlugConflictError extends Error {
  override name = 'SlugConflictError';
}

/** Reserves an announced slug for a part. Two columns of one part can also collide, which fails that part alone. */
function claimSlug(item: SourceItem, part: number, owners: Map<string, number>): void {
  if (item.kind !== 'indicator') return;
  const { slug } = item.entry;
  const owner = owners.get(slug);
  const message = `two series would be called "${slug}": give one a slug of its own`;
  if (owner === part) throw new Error(message);
  if (owner !== undefined) throw new SlugConflictError(message);
  owners.set(slug, part);
}

/** Whether a file is unreachable rather than refused with a 4xx status. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.status === null || error.status < 400 || error.status >= 500);

/**
 * The error that stops a run of so many parts: the first when none has succeeded so far, the latest after unreachable ones.
 * @param outcomes by part: its error, or null for a success
 */
function stoppingError(outcomes: readonly unknown[], parts: number): unknown {
  const isFailure = outcomes.every((error) => error !== null);
  if (isFailure && outcomes.length === Math.min(FAILURE_LIMIT, parts)) return outcomes[0];
  const latest = outcomes.slice(-FAILURE_LIMIT);
  return latest.length === FAILURE_LIMIT && latest.every(isUnreachable) ? latest.at(-1) : null;
}

/**
 * Reads a provider that consists of parts (charts, packages, files), in order, so that one unreadable part does not lose
 * the others: it becomes `failed` items for its series. The run stops when the provider is down or has changed its layout,
 * since hundreds of further requests would only delay the nightly run, and at a fault of this machine, such as a full disk.
 * @throws {SlugConflictError} when two parts produce the same slug.
 * @throws the first part's error when the first five, or all of fewer, fail; the last error when five parts in a row are
 * unreachable; the abort reason when cancelled.
 */
export async function* readParts<Part>(
  { signal, log }: Pick<ConnectorContext<unknown>, 'signal' | 'log'>,
  parts: readonly Part[],
  slugOf: (part: Part) => string,
  open: (part: Part) => Promise<OpenPart>,
): AsyncIterable<SourceItem> {
  const owners = new Map<string, number>();
  const outcomes: unknown[] = [];
  for (const [number, part] of parts.entries()) {
    signal.throwIfAborted();
    let slugs: readonly string[] = [slugOf(part)];
    try {
      const opened = await open(part);
      if (opened.slugs?.length) slugs = opened.slugs;
      for await (const item of opened.items) {
        claimSlug(item, number, owners);
        yield item;
      }
      outcomes.push(null);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SlugConflictError || machineFault(error) !== null) throw error;
      const reason = describeError(error);
      log.warn({ part: slugs[0], reason }, 'part failed');
      // Reported at once, while the interrupted series is still the current one, so that none of its rows is kept.
      for (const slug of slugs) yield { kind: 'failed', slug, reason };
      outcomes.push(error);
    }
    const fault = stoppingError(outcomes, parts.length);
    if (fault !== null) throw fault;
  }
}

/** A response violates its protocol; the message quotes what came instead. */
export class ResponseError extends Error {
  override name = 'ResponseError';
}

const SAMPLE_LENGTH = 120;

/** Fetches and parses one response. @throws {ResponseError} when it is not JSON. */
export async function readJson(upstream: Upstream, reference: string): Promise<unknown> {
  const body = (await upstream.text(reference)).replace(/^\uFEFF/, '').trim();
  if (body === '') throw new ResponseError(`${reference}: an empty response`);
  if (body.startsWith('<')) throw new ResponseError(`${reference}: a page of HTML or XML instead of JSON`);
  try {
    return JSON.parse(body);
  } catch {
    throw new ResponseError(`${reference}: not JSON, or cut off: ${body.slice(0, SAMPLE_LENGTH)}`);
  }
}

/** As `readJson`. @throws {ResponseError} for the first field that is not as the schema says, too. */
export async function readJsonAs<Shape>(
  upstream: Upstream,
  reference: string,
  schema: z.ZodType<Shape>,
): Promise<Shape> {
  const parsed = schema.safeParse(await readJson(upstream, reference));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ResponseError(`${reference}: ${issue?.path.join('.')}: ${issue?.message}`);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The trimmed text of a field; null when it is absent, empty or not text. Numbers become text. */
export function getText(record: unknown, field: string): string | null {
  const value = isObject(record) ? record[field] : undefined;
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}
