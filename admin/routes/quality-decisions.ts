/**
 * Decides findings of the quality report, one or all open ones of a group: accepted, to be fixed, unranked, withheld, or snoozed
 * until a day. The page lists what is decided; one step stores all decisions or none. Builds read them before the rows
 * of `data/quality-decisions.csv`.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FindingDecision } from '../../data/schema/operator-changes.ts';
import { qualityDecisionWord } from '../../data/schema/quality.ts';
import { counted } from '../../gateway/commerce/people/people.ts';
import { PageError, parseFields, textField } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, auditedStep } from '../context.ts';
import { versionOf } from '../decision-store.ts';
import { isOpen, type ListedFinding, readFindings } from '../findings.ts';
import { indicatorPath, indicatorSubject, queueRebuild } from './indicator.ts';
import { FINDING_FILTERS, matches, QUALITY_PATH, shownFinding } from './quality.ts';

const WORDS = [
  'accept',
  'snooze',
  'fix',
  'unrank',
  'withhold',
] as const satisfies FindingDecision['decision'][];
/** Findings shown; all that match are decided. */
const SHOWN = 200;

const chosen = { ...FINDING_FILTERS, id: textField(16) };
const chosenQuery = z.object(chosen);
type Chosen = z.output<typeof chosenQuery>;
const form = z.object({
  ...chosen,
  decision: z.enum([...qualityDecisionWord.options, 'snooze'], { error: `one of ${WORDS.join(', ')}` }),
  until: textField(10),
  reason: textField(500),
  /** The findings that the operator saw. */
  seen: textField(64),
});
type Typed = z.output<typeof form>;

export function qualityDecisionRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('quality-decide.njk');

  /** One by its id, else all open ones that match. @throws {PageError} 404 for none */
  async function choose({ id, ...filters }: Chosen): Promise<ListedFinding[]> {
    const all = (await readFindings(area))?.findings ?? [];
    const found = all.filter((one) => (id === '' ? isOpen(one) && matches(one, filters) : one.id === id));
    if (found.length === 0) throw new PageError(404, 'No such finding is open.');
    return found;
  }

  function show(reply: FastifyReply, found: readonly ListedFinding[], typed: Typed & { problem: string }) {
    const published = area.snapshots.current()?.catalogue.indicators;
    const pathOf = (id: string) => (published?.has(id) ? indicatorPath(id) : null);
    const { id, severity, kind, provider, series } = typed;
    return view(reply, found.length === 1 ? 'Decide a finding' : `Decide ${found.length} findings`, {
      form: { ...typed, seen: digestOf(found) },
      chosen: { id, severity, kind, provider, series },
      path: `${QUALITY_PATH}/decide`,
      words: WORDS.filter((word) => found.every((one) => isAllowed(word, one))),
      today: dayOfMs(area.now()),
      total: found.length,
      findings: found.slice(0, SHOWN).map((one) => shownFinding(one, pathOf)),
    });
  }

  scope.get('/quality/decide', async (request, reply) => {
    const asked = parseFields(chosenQuery, request.query);
    const found = await choose(asked);
    return show(reply, found, { ...asked, decision: 'accept', until: '', reason: '', seen: '', problem: '' });
  });

  scope.post('/quality/decide', async (request, reply) => {
    const typed = parseFields(form, request.body);
    const found = await choose(typed);
    if (typed.seen !== digestOf(found))
      throw new PageError(409, 'The findings have changed meanwhile. Look at them again.');
    const problem = findProblem(typed, found, dayOfMs(area.now()));
    if (problem !== null) return show(reply.code(422), found, { ...typed, problem });
    await decide(request, typed, found);
    const what = counted(found.length, 'finding is', 'findings are');
    if (typed.decision === 'snooze')
      return reply.leadTo(QUALITY_PATH, `${what} snoozed until ${typed.until}.`);
    const done = `${what} decided: ${typed.decision}`;
    const isInFigures = typed.decision === 'withhold' || typed.decision === 'unrank';
    const notice = isInFigures
      ? await queueRebuild(area, request, done)
      : `${done}. The next build tells readers.`;
    return reply.leadTo(QUALITY_PATH, notice);
  });

  function decide(request: FastifyRequest, typed: Typed, found: readonly ListedFinding[]): Promise<void> {
    const made = { by: actorOf(request), decided_at_ms: area.now() };
    const { decision, reason } = typed;
    const until = decision === 'snooze' ? typed.until : null;
    const after = { decision, ...(until !== null && { until }) };
    const changes = found.map((one) => {
      const { id, kind, other, extent } = one;
      const next = { kind, subject: subjectOf(one), other, extent, decision, reason, until, ...made };
      return { id, seen: versionOf(one.own), next };
    });
    const step = {
      ...{ action: 'findings.decide', subject: 'quality report', reason },
      after: { ...after, findings: found.length },
    };
    return auditedStep(area, request, step, {
      work: () => area.decisions.findings.replace(changes),
      each: found.map((one) => ({
        ...{ action: 'finding.decide', reason, after: { kind: one.kind, ...after } },
        subject: one.indicator === null ? `provider ${one.provider}` : indicatorSubject(one.indicator),
      })),
    });
  }
}

const dayOfMs = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const subjectOf = ({ indicator, provider }: ListedFinding): string => indicator ?? provider;

/** A finding on a provider has no series to withhold; one on none is decided by mending the check. */
const isAllowed = (word: FindingDecision['decision'], { indicator, kind }: ListedFinding): boolean => {
  if (word === 'snooze') return true;
  return kind !== 'check_failed' && (indicator !== null || word === 'accept' || word === 'fix');
};

function findProblem({ decision, until, reason }: Typed, found: readonly ListedFinding[], today: string) {
  if (!found.every((one) => isAllowed(decision, one)))
    return `Decision: not all of these findings can be decided as ${decision}.`;
  if (reason === '') return 'Reason: say why.';
  if (decision !== 'snooze') return null;
  if (!z.iso.date().safeParse(until).success || until < today)
    return 'Until: a day from today on, such as 2026-12-31.';
  return null;
}

/** Changes with the findings, their extent, and each decision about one. */
const digestOf = (found: readonly ListedFinding[]): string =>
  createHash('sha256')
    .update(JSON.stringify(found.map(({ id, extent, decision, own }) => [id, extent, decision, own])))
    .digest('hex');
