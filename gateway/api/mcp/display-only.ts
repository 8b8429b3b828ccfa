/** Figures that may be shown and not handed out. */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { type Refused, refused } from '../operations/operation.ts';
import { addressOf } from './answer.ts';

/** Why the figures of the first display-only indicator are not given; null where there is none. */
export function exportRefused(records: readonly IndicatorRecord[], publicUrl: string): Refused | null {
  const record = records.find(({ access_tier }) => access_tier === 'display');
  if (record === undefined) return null;
  return refused(
    'export_restricted',
    `“${record.name}” (${record.id}) may be shown but not exported: its provider's licence forbids it (${record.licence}). ` +
      `rank_countries shows a year, and ${addressOf(publicUrl, `/indicators/${record.id}`)} a chart. ` +
      'Other series of the concept may be open: find_indicators names them.',
  );
}
