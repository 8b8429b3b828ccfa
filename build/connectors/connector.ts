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
import type { Upstream } from '../upstream/upstream.ts';

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
  /** What upstream calls this edition. */
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
