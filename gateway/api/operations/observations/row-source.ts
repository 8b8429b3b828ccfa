/** What rows of observations are made of, whether published, derived or of groups. */
import type { Reason } from '../../../../data/derived/derivation.ts';
import type { CountryRecord, IndicatorRecord } from '../../../../data/schema/records.ts';
import type { Detail, Omission, RowFilter, SelectedRows } from '../../snapshot/snapshot.ts';

/** Where rows come from: published as they are, or derived. */
export interface RowSource {
  /** @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
  select(
    record: IndicatorRecord,
    filter: RowFilter,
    omission: Omission,
  ): SelectedRows | Promise<SelectedRows>;
  /** Of each of these rows. */
  details(record: IndicatorRecord, rows: SelectedRows, filter: RowFilter): Promise<readonly RowDetail[]>;
  /** Places of rows besides countries. */
  groups?: readonly Place[];
}

/** A country, or a group by `@` and id. */
export type Place = Omit<CountryRecord, 'iso3'> & { iso3: string | null; group?: string };

export interface RowDetail extends Detail {
  /** Why there is no derived figure. */
  reason?: Reason | null;
  /** How the figure of a group was made. */
  group?: { members: number; counted: number; coverage: number; method: string; price: number };
}
