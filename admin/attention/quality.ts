/** Quality: figures and labels that are most likely wrong, and nobody has decided about. */
import { readQuality } from '../quality-report.ts';
import { type AttentionSource, counted, listNames } from './item.ts';

export const openQualityErrors: AttentionSource = {
  finds: 'undecided quality errors',
  async find({ area }) {
    const findings = (await readQuality(area.redis))?.findings ?? [];
    const open = findings.filter(({ severity, decision }) => severity === 'error' && decision === null);
    if (open.length === 0) return [];
    const subjects = [...new Set(open.map(({ indicator, provider }) => indicator ?? provider))];
    const noun = counted(open.length, 'quality error is', 'quality errors are');
    return [
      {
        severity: 'warning',
        what: `${noun} undecided: ${listNames(subjects)}.`,
        since_ms: Math.min(...open.map(({ first_seen }) => Date.parse(first_seen))),
        path: '/admin/quality?severity=error&state=open',
        action: 'Decide',
      },
    ];
  },
};
