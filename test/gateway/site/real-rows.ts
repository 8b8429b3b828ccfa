/** Compares rows of rankings on pages with figures of the API. */
import { expect } from 'vitest';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { shows } from './read-charts.ts';
import type { TrueRank } from './real-edition.ts';

/** A row of the ranking: rank, name with marks, value, bounds, change of rank. */
export function expectRow(
  { id, unit }: IndicatorRecord,
  columns: readonly string[],
  { cells, figure, status = '' }: { cells: readonly string[]; figure: TrueRank; status: string | undefined },
): void {
  const cell = (label: string): string | undefined => cells[columns.indexOf(label)];
  const where = [id, figure.iso3];
  // A forecast is one that is projected.
  const said = status
    .split(', ')
    .filter((word) => !['', 'forecast', 'projection', 'predicted'].includes(word));
  const marks = [...(figure.projected ? ['projected'] : []), ...said];
  expect([...where, cell('Country')]).toEqual([...where, [figure.name, ...marks].join(' ')]);
  expect([...where, shows(cell(unit ?? 'Value') ?? '', figure.value)]).toEqual([...where, true]);
  const [field] = columns;
  if (!field?.startsWith('Rank')) return;
  const { rank, rank_delta_1y: delta } = figure;
  expect([...where, cells[0]]).toEqual([...where, String(rank ?? '–')]);
  if (!columns.includes('Change of rank')) return;
  const change = cell('Change of rank')?.replace('−', '-').replace('+', '');
  expect([...where, change]).toEqual([...where, delta === null ? '–' : String(delta)]);
}
