/** Formats that cannot write every table. */
import type { Encoder } from '../../encoders/encoder.ts';
import type { Column } from '../../encoders/tables/table.ts';
import type { Invalid } from '../operation.ts';
import { toDetail } from '../parameters/validation.ts';

/** The refusal of a table that lacks a column which the format needs, or null. */
export function lackingColumns(
  columns: readonly Column[],
  { name, columnsNeeded = [] }: Encoder,
): Invalid | null {
  const missing = columnsNeeded.filter((needed) => columns.every((column) => column.name !== needed));
  if (missing.length === 0) return null;
  const error = `this format needs the columns ${columnsNeeded.join(', ')}: ask for them, or in another format`;
  const failure = { type: 'value_error', ctx: { error } } as const;
  return { kind: 'invalid', detail: [toDetail(failure, ['query', 'format'], name)] };
}
