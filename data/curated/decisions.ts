/** Reads `quality-decisions.csv`: what a person has decided about findings of the quality report. */
import { existsSync } from 'node:fs';
import { QUALITY_DECISION_COLUMNS, type QualityDecision, qualityDecision } from '../schema/quality.ts';
import { INDICATOR_ID } from '../schema/records.ts';
import type { Position, Problems } from './problems.ts';
import { asNumber, check, readTable } from './table.ts';

/**
 * Returns the decisions in file order; none without the file.
 * @param providers the ids that there are.
 */
export async function loadDecisions(
  file: string,
  providers: ReadonlySet<string>,
  problems: Problems,
): Promise<QualityDecision[]> {
  if (!existsSync(file)) return [];
  const decisions: QualityDecision[] = [];
  const seen = new Set<string>();
  for (const { cells, ...at } of readTable(file, QUALITY_DECISION_COLUMNS, [], problems)) {
    const decision = check(qualityDecision, { ...cells, extent: asNumber(cells.extent) }, at, problems);
    if (decision === undefined) continue;
    checkSubject(decision, providers, at, problems);
    const { kind, subject, other } = decision;
    const key = [kind, ...[subject, other ?? ''].sort()].join(' ');
    if (seen.has(key))
      problems.add(at, `${kind} of ${subject}${other ? ` and ${other}` : ''} is decided twice`);
    seen.add(key);
    decisions.push(decision);
  }
  return decisions;
}

function checkSubject(
  { subject, other, decision }: QualityDecision,
  providers: ReadonlySet<string>,
  at: Position,
  problems: Problems,
): void {
  const isSeries = INDICATOR_ID.test(subject);
  for (const id of other === null ? [subject] : [subject, other]) {
    const provider = id.split('.', 1)[0] ?? '';
    if (!providers.has(provider)) problems.add(at, `${id}: there is no provider "${provider}"`);
  }
  if (!isSeries && subject.includes('.')) {
    problems.add(
      at,
      `subject: "${subject}" is neither an indicator id, <provider>.<slug>, nor a provider id`,
    );
  } else if (!isSeries && other !== null) {
    problems.add(at, `other: a finding on the whole provider "${subject}" has no other series`);
  } else if (!isSeries && (decision === 'withhold' || decision === 'unrank')) {
    problems.add(
      at,
      `decision: a whole provider cannot be decided as "${decision}"; set it in its definition`,
    );
  }
}
