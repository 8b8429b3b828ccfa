/** Findings of a quality report, one of each state. */
import { findingId } from '../../build/quality/findings.ts';
import type { QualityFinding } from '../../data/schema/quality.ts';

export const SERIES = 'alpha.life_expectancy';

function finding(more: Partial<QualityFinding>): QualityFinding {
  const one: QualityFinding = {
    id: '',
    kind: 'share_out_of_range',
    severity: 'error',
    provider: 'alpha',
    indicator: SERIES,
    other: null,
    countries: ['FRA'],
    years: [2000, 2001],
    extent: 2,
    message: 'France is 120 % in 2000; 2 values of 1 country lie outside 0 to 100 %.',
    first_seen: '2026-11-20T02:00:00+00:00',
    change: null,
    decision: null,
    reason: null,
    lapsed: null,
    ...more,
  };
  return { ...one, id: findingId(one) };
}

export const OPEN = finding({ change: 'new' });
export const ACCEPTED = finding({
  indicator: 'beta.life_expectancy',
  provider: 'beta',
  message: 'Germany is 101 % in 2000.',
  decision: 'accept',
  reason: 'Rounded, "at the source".',
});
export const LAPSED = finding({
  kind: 'provider_places_lost',
  indicator: null,
  extent: 3,
  years: null,
  message: 'Alpha has no figures of France, India, Japan.',
  change: 'worse',
  lapsed: { decision: 'accept', extent: 1, by: 'ada', on: '2026-11-19', reason: 'It never had it.' },
});
export const UNPUBLISHED = finding({
  kind: 'series_failed',
  severity: 'warning',
  indicator: 'alpha.broken',
  message: 'The series could not be read: cut off.',
});
