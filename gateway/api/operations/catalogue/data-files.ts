/** What can be downloaded of an edition, for documents that describe it. Addresses name the edition. */
import type { IndicatorRecord, ProviderCredit } from '../../../../data/schema/records.ts';
import type { DataFile } from '../../encoders/documents/data-set.ts';
import { csv } from '../../encoders/tables/csv.ts';
import { describedColumns } from '../../encoders/tables/described-columns.ts';
import { PARQUET_TYPE } from '../../encoders/tables/parquet.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';

const KEY = ['iso3', 'year'] as const;
const FIGURES = ['value', 'ci_lo', 'ci_hi', 'rank'] as const;
const CSV_COLUMNS = ['indicator', ...KEY, ...FIGURES, 'projected'] as const;
const PARQUET_COLUMNS = [
  ...KEY,
  ...FIGURES,
  ...(['rank_delta_1y', 'projected', 'status', 'rank_lo', 'rank_hi'] as const),
] as const;

/** Of one indicator; none where it is for display only. @param base before paths. */
export async function indicatorFiles(
  edition: Edition,
  record: IndicatorRecord,
  base: string,
): Promise<DataFile[]> {
  if (record.access_tier === 'display') return [];
  const { id, name, unit } = record;
  const whole = await edition.wholeFile(id);
  const parquet: DataFile[] =
    whole === null
      ? []
      : [
          {
            name: `${id}.parquet`,
            title: `${name}: observations as Parquet`,
            url: `${base}/v1/files/${id}.parquet?as_of=${edition.id}`,
            mediaType: PARQUET_TYPE,
            format: 'parquet',
            columns: describedColumns(PARQUET_COLUMNS, unit),
            // Files of earlier versions lack the column `indicator`.
            hasAllColumns: false,
            key: KEY,
            content: { bytes: whole.bytes, sha256: whole.sha256 },
          },
        ];
  return [...parquet, ...rowFiles(edition, record, base)];
}

/** The same as far as it is known without reading observations. */
export function rowFiles(edition: Edition, record: IndicatorRecord, base: string): DataFile[] {
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
      hasAllColumns: true,
      key: ['indicator', ...KEY],
      content: null,
    },
  ];
}

/** The bundles of some providers that an edition still has. @param base before paths. */
export async function bundles(
  edition: Edition,
  providers: Iterable<Pick<ProviderCredit, 'id' | 'name'>>,
  base: string,
): Promise<DataFile[]> {
  const files: DataFile[] = [];
  for (const { id, name } of providers) {
    const bundle = await edition.bundle(id);
    if (bundle === null) continue;
    files.push({
      name: `${id}.parquet`,
      title: `Observations of all indicators of ${name} that may be exported, as Parquet`,
      url: `${base}/v1/bundles/${id}.parquet?as_of=${edition.id}`,
      mediaType: PARQUET_TYPE,
      format: 'parquet',
      columns: describedColumns(['indicator', ...PARQUET_COLUMNS], null),
      hasAllColumns: true,
      key: ['indicator', ...KEY],
      content: { bytes: bundle.bytes, sha256: bundle.sha256 },
    });
  }
  return files;
}
