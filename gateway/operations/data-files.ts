/** What can be downloaded of an edition, for documents that describe it. */
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { csv } from '../encoders/csv.ts';
import type { DataFile } from '../encoders/data-set.ts';
import { describedColumns } from '../encoders/described-columns.ts';
import type { Edition } from '../snapshot/edition.ts';

const KEY = ['indicator', 'iso3', 'year'] as const;
const CSV_COLUMNS = [...KEY, 'value', 'ci_lo', 'ci_hi', 'rank', 'projected'] as const;

/** Of one indicator; none where it is for display only. @param base before paths. */
export function indicatorFiles(edition: Edition, record: IndicatorRecord, base: string): DataFile[] {
  const { id, name, unit, access_tier } = record;
  if (access_tier === 'display') return [];
  return [
    {
      name: `${id}.csv`,
      title: `${name}: observations as CSV`,
      url: `${base}/v1/data?indicator=${id}&format=csv&as_of=${edition.id}`,
      mediaType: csv.mediaType,
      format: 'csv',
      columns: describedColumns(CSV_COLUMNS, unit),
      key: KEY,
      content: null,
    },
  ];
}
