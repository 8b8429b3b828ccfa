/** What an edition says otherwise of an indicator than the edition before: its name, unit or definition. */
import { z } from 'zod';
import { type IndicatorRecord, indicatorId } from './records.ts';

const changedText = z
  .object({ old: z.string().nullable(), new: z.string().nullable() })
  .nullable()
  .describe('Null where it did not change');

export const redefinition = z.object({
  indicator: indicatorId,
  name: changedText,
  unit: changedText,
  definition: changedText.describe('Its description; null where it did not change'),
});
export type Redefinition = z.infer<typeof redefinition>;

type Described = Pick<IndicatorRecord, 'id' | 'name' | 'unit' | 'description'>;

/** Null where nothing changed. @param before may have another id: it was renamed. */
export function redefinitionOf(before: Described, after: Described): Redefinition | null {
  const change = (name: 'name' | 'unit' | 'description') =>
    before[name] === after[name] ? null : { old: before[name], new: after[name] };
  const [name, unit, definition] = [change('name'), change('unit'), change('description')];
  return (name ?? unit ?? definition) ? { indicator: after.id, name, unit, definition } : null;
}
