/** Labels that changed since the night before while the figures stayed, and figures that moved while the label stayed. */
import type { FoundDoubt, SeriesStatistics } from '../../../data/schema/quality.ts';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import type { CheckContext, QualityCheck } from '../check.ts';
import { figure } from '../wording.ts';
import { labelDoubt, quote } from './label-words.ts';

const LABEL = ['name', 'unit', 'description', 'topic', 'higher_is_better'] as const;

/** A new edition moves the median of a series by less; a change of unit, scale or population by more. */
const LEVEL_FACTOR = 1.5;
/** Fewer values have no steady median. */
const MIN_VALUES = 30;

const told = (value: string | boolean | null): string =>
  value === null ? 'nothing' : quote(String(value).slice(0, 80));

function labelChanged(before: IndicatorRecord, now: IndicatorRecord): FoundDoubt[] {
  const changed = LABEL.filter((field) => before[field] !== now[field]);
  if (changed.length === 0) return [];
  const parts = changed.map((field) => `${field} was ${told(before[field])}, is ${told(now[field])}`);
  return [
    labelDoubt('label_changed', now.id, `The figures are the same, but ${parts.join('; ')}.`, changed.length),
  ];
}

/** The factor by which the quartiles moved together; 1 when they did not. */
export function levelFactor(before: SeriesStatistics, now: SeriesStatistics): number {
  const quartiles = ['q1', 'median', 'q3'] as const;
  const factors = quartiles.flatMap((name) => {
    const [a, b] = [before[name], now[name]];
    return a === null || b === null || a * b <= 0 ? [] : [Math.log(b / a)];
  });
  const least = Math.min(...factors.map(Math.abs));
  const isShift =
    factors.length === quartiles.length && (factors.every((f) => f > 0) || factors.every((f) => f < 0));
  return isShift ? Math.exp(least) : 1;
}

function levelChanged(id: string, before: SeriesStatistics, now: SeriesStatistics): FoundDoubt[] {
  if (Math.min(before.values, now.values) < MIN_VALUES) return [];
  const factor = levelFactor(before, now);
  if (factor < LEVEL_FACTOR) return [];
  const message = `The median was ${figure(before.median ?? 0)} and is ${figure(now.median ?? 0)}, with the same name and unit.`;
  return [labelDoubt('level_changed', id, message, Math.round(factor * 100) / 100)];
}

async function findChanges({ series, before }: CheckContext): Promise<FoundDoubt[]> {
  return [...series.values()].flatMap(({ record, statistics }) => {
    const previous = before.get(record.id);
    if (!previous) return [];
    if (previous.statistics.digest === statistics.digest) return labelChanged(previous.record, record);
    const isLabelled = previous.record.name === record.name && previous.record.unit === record.unit;
    return isLabelled ? levelChanged(record.id, previous.statistics, statistics) : [];
  });
}

export const labelChanges: QualityCheck = {
  looksBeyond: true,
  kinds: ['label_changed', 'level_changed'],
  find: findChanges,
};
