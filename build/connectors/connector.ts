/**
 * The one interface of every upstream protocol.
 *
 * A connector turns what a provider publishes into catalogue entries and raw observations. It knows the wire format
 * and nothing else: places, years, numbers, duplicates and bounds are judged by ingestion (`build/ingest/`), the same
 * way for every provider. It streams: no connector holds a whole provider in memory.
 */
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** One figure as upstream writes it. Text is parsed and judged by ingestion, not here. */
export interface RawObservation {
  /** The provider's own place code or name. */
  place: string;
  year: number | string;
  /** `null` or a text that the definition lists as missing: a published gap, kept as null. */
  value: number | string | null;
  ci_lo?: number | string | null;
  ci_hi?: number | string | null;
  /** Absent: the definition's `projected_from` decides. */
  projected?: boolean;
  status?: string | null;
  /** Upstream has withdrawn it: counted, never stored. */
  withdrawn?: boolean;
  /** Upstream itself says that the place is a group of places: counted as an aggregate without a look-up. */
  aggregate?: boolean;
  /**
   * The figure is of a part of the population (`SEX=FMLE`) while the definition takes another part or the whole:
   * counted with this text as its sample, never stored.
   */
  other_dimension?: string;
}

export type SourceItem =
  /** What upstream calls this edition. */
  | { kind: 'vintage'; vintage: string }
  /** How many indicators will come, when known: for progress. */
  | { kind: 'plan'; indicators: number }
  /** Announces a series; comes before its observations. */
  | { kind: 'indicator'; entry: CatalogueEntry }
  /** A batch of one series' figures; batches of a series are contiguous. */
  | { kind: 'observations'; slug: string; rows: RawObservation[] }
  /** This series could not be read; the others go on. */
  | { kind: 'failed'; slug: string; reason: string };

export interface ConnectorContext<Settings> {
  definition: ProviderDefinition;
  settings: Settings;
  upstream: Upstream;
  log: Logger;
  signal: AbortSignal;
}

export interface Connector<Settings = unknown> {
  /** The name that definitions use. */
  readonly protocol: string;
  readonly settings: z.ZodType<Settings>;
  /** Throws when the provider's layout is not the expected one; single bad series are `failed` items. */
  read(context: ConnectorContext<Settings>): AsyncIterable<SourceItem>;
}
