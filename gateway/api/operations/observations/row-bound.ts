/** Answers that would have more rows than one answer holds. */
import type { Encoder } from '../../encoders/encoder.ts';
import type { Invalid } from '../operation.ts';
import { toDetail } from '../parameters/validation.ts';

/** The most rows of one answer. */
export const ROWS_MAX = 1_000_000;

/** The refusal, or null for an answer that is short enough. */
export function rowBound(rows: number, { name, rowsMax = ROWS_MAX }: Encoder): Invalid | null {
  if (rows <= rowsMax) return null;
  const advice =
    rows > ROWS_MAX
      ? 'ask for less, or take whole indicators from /v1/files/{indicator_id}.parquet'
      : 'ask for less or in another format, or take whole indicators from /v1/files/{indicator_id}.parquet';
  const failure = { type: 'too_many_rows', ctx: { max_rows: rowsMax, advice } } as const;
  const loc = rowsMax < ROWS_MAX ? ['query', 'format'] : ['query'];
  return { kind: 'invalid', detail: [toDetail(failure, loc, rowsMax < ROWS_MAX ? name : undefined)] };
}
