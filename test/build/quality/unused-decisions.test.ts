/** Which decisions without a finding are told: those whose subject would be loaded if it existed. */
import { expect, it } from 'vitest';
import { decideFindings } from '../../../build/quality/findings.ts';
import type { QualityDecision } from '../../../data/schema/quality.ts';

const accepted = (subject: string, other: string | null = null): QualityDecision => ({
  kind: 'twin_disagreement',
  subject,
  other,
  extent: 1,
  decision: 'accept',
  by: 'ada',
  on: '2026-11-20',
  reason: 'Two definitions.',
});

/** `read` was read whole, `started` from its starter data, `absent` never. */
const unused = (...decisions: QualityDecision[]): QualityDecision[] =>
  decideFindings({
    doubts: [],
    decisions,
    series: new Set(['read.known', 'started.known']),
    wholeProviders: new Set(['read']),
    before: null,
    earlier: [],
    now: '2026-11-20T02:00:00+00:00',
  }).unused;

it.each([
  [accepted('read')],
  [accepted('read.known')],
  [accepted('read.misspelt')],
  [accepted('read.known', 'read.misspelt')],
])('a decision on a provider that was read whole is told: $subject and $other', (decision) => {
  expect(unused(decision)).toEqual([decision]);
});

it.each([
  [accepted('started')],
  [accepted('started.known')],
  [accepted('started.not_loaded')],
  [accepted('absent')],
  [accepted('absent.not_loaded')],
  [accepted('read.known', 'absent.not_loaded')],
  [accepted('started.not_loaded', 'read.known')],
])('a decision on data that are not loaded is no news: $subject and $other', (decision) => {
  expect(unused(decision)).toEqual([]);
});
