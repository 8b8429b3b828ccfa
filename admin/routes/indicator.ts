/**
 * One indicator: its values, its history, edits with a preview, publishing and unpublishing. Every change queues a rebuild.
 * Unpublishing and resetting ask first; see `gateway/commerce/people/confirmation.ts`.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import { EDITABLE, type EditableFacts, type EditableField } from '../../data/schema/operator-changes.ts';
import type { AuditEntry, AuditFacts } from '../../gateway/commerce/history/history.ts';
import {
  type Confirmation,
  confirmedAction,
  formatChange,
  formatCount,
  OPTIONAL_REASON,
  type Outcome,
  REASON,
} from '../../gateway/commerce/people/people.ts';
import { parseFields, textField } from '../../gateway/web/forms.ts';
import { barChart, type Chart } from '../../gateway/web/templates.ts';
import { type AdminArea, actorOf, idOf, shownChanges } from '../context.ts';
import { type AdminIndicator, type Merge, mergeForm, type SentFacts, versionOf } from '../indicator-admin.ts';
import { readIndicatorValues } from '../indicator-values.ts';

export const INDICATORS_PATH = '/admin/indicators';
export const indicatorPath = (id: string): string => `${INDICATORS_PATH}/${encodeURIComponent(id)}`;
export const indicatorSubject = (id: string): string => `indicator ${id}`;

/** Fields that are absent stay as they are. */
const editForm = z.object({
  name: textField(500),
  description: textField(10_000),
  unit: textField(200),
  topic: textField(50),
  direction: textField(20),
  featured: textField(10),
  ranked: textField(10),
  version: textField(200),
});
type EditForm = z.output<typeof editForm>;

const FIELD_LABELS: Readonly<Record<EditableField, string>> = {
  name: 'Name',
  description: 'Description',
  unit: 'Unit',
  topic: 'Topic',
  higher_is_better: 'Direction',
  featured: 'Featured',
  no_rank: 'Ranked',
};

const DIRECTIONS = { higher: true, lower: false, neither: null } as const;
const DIRECTION_LABELS = {
  higher: 'higher is better',
  lower: 'lower is better',
  neither: 'neither is better',
} as const;
const YES_OR_NO = { yes: true, no: false } as const;

interface Choice {
  value: string;
  label: string;
}
/** The choices of each `select`. */
const CHOICES: Readonly<Record<'topic' | 'direction' | 'featured' | 'ranked', readonly Choice[]>> = {
  topic: TOPIC_SLUGS.map((value) => ({ value, label: value })),
  direction: Object.entries(DIRECTION_LABELS).map(([value, label]) => ({ value, label })),
  featured: Object.keys(YES_OR_NO).map((value) => ({ value, label: value })),
  ranked: Object.keys(YES_OR_NO).map((value) => ({ value, label: value })),
};

const wordOf = (words: Readonly<Record<string, boolean | null>>, value: boolean | null): string =>
  Object.keys(words).find((word) => words[word] === value) ?? '';

const formOf = (facts: EditableFacts): EditForm => ({
  name: facts.name,
  description: facts.description ?? '',
  unit: facts.unit ?? '',
  topic: facts.topic,
  direction: wordOf(DIRECTIONS, facts.higher_is_better),
  featured: wordOf(YES_OR_NO, facts.featured),
  ranked: wordOf(YES_OR_NO, !facts.no_rank),
  version: versionOf(facts),
});

/** A fact as people read it; empty for none. */
function factText(facts: EditableFacts, field: EditableField): string {
  if (field === 'higher_is_better')
    return CHOICES.direction.find(({ value }) => value === formOf(facts).direction)?.label ?? '';
  if (field === 'no_rank') return facts.no_rank ? 'no' : 'yes';
  if (field === 'featured') return facts.featured ? 'yes' : 'no';
  return facts[field] ?? '';
}

/** The facts that a form sends, or why it is refused. */
function readForm(form: EditForm): { facts: SentFacts } | { problem: string } {
  if (form.name === '') return { problem: 'Enter a name.' };
  for (const [field, choices] of Object.entries(CHOICES)) {
    const value = form[field as keyof typeof CHOICES];
    if (value !== '' && !choices.some((choice) => choice.value === value))
      return { problem: `${field}: choose one of ${choices.map((choice) => choice.value).join(', ')}.` };
  }
  const { name, description, unit, topic, direction, featured, ranked } = form;
  return {
    facts: {
      name,
      description: description || null,
      unit: unit || null,
      ...(topic !== '' && { topic }),
      ...(direction !== '' && { higher_is_better: DIRECTIONS[direction as keyof typeof DIRECTIONS] }),
      ...(featured !== '' && { featured: featured === 'yes' }),
      ...(ranked !== '' && { no_rank: ranked === 'no' }),
    },
  };
}

/** What the page shows beyond what is stored. */
interface PageState {
  form?: EditForm;
  problem?: string;
  conflict?: Merge;
  preview?: EditableFacts;
}

/** Fields in two states. */
const changesBetween = (before: EditableFacts, after: EditableFacts) =>
  EDITABLE.filter((field) => before[field] !== after[field]).map((field) => ({
    label: FIELD_LABELS[field],
    before: factText(before, field),
    after: factText(after, field),
  }));

const auditFactsOf = (facts: EditableFacts): AuditFacts =>
  Object.fromEntries(EDITABLE.map((field) => [field, facts[field]]));

export function indicatorRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { indicators, snapshots } = area;
  const view = area.view('indicator.njk');
  type IdParams = { Params: { id: string } };

  async function page(reply: FastifyReply, id: string, state: PageState = {}): Promise<FastifyReply> {
    const indicator = await indicators.get(id);
    const countries = snapshots.current()?.catalogue.countriesByCode;
    const [changes, values] = await Promise.all([
      shownChanges(area, indicatorSubject(id)),
      readIndicatorValues(area.settings.SNAPSHOT_DIR, id, (iso3) => countries?.get(iso3)?.name ?? iso3),
    ]);
    return view(reply, indicator.name, {
      indicator,
      path: indicatorPath(id),
      form: { ...(state.form ?? formOf(indicator)), problem: state.problem ?? '' },
      choices: CHOICES,
      conflict: state.conflict ? buildConflict(state.conflict, indicator, changes.audit) : null,
      preview: state.preview ? buildPreview(indicator, state.preview) : null,
      edits: changesBetween(indicator.original, indicator),
      values,
      coverage: values && coverageChart(values.byYear),
      ...changes,
    });
  }

  indicatorActionRoutes(scope, area);

  scope.get<IdParams>('/indicators/:id', (request, reply) => page(reply, request.params.id));

  scope.post<IdParams>('/indicators/:id/preview', async (request, reply) => {
    const { id } = request.params;
    const form = parseFields(editForm, request.body);
    const read = readForm(form);
    if ('problem' in read) return page(reply.code(422), id, { form, problem: read.problem });
    // A preview changes nothing: the same form may be sent again, changed or to be saved.
    if (request.formClaim) request.formClaim.isUnchanged = true;
    const { merged } = mergeForm(await indicators.get(id), read.facts, form.version || null);
    return page(reply, id, { form, preview: merged });
  });

  scope.post<IdParams>('/indicators/:id', async (request, reply) => {
    const { id } = request.params;
    const form = parseFields(editForm, request.body);
    const read = readForm(form);
    if ('problem' in read) return page(reply.code(422), id, { form, problem: read.problem });
    await indicators.get(id);
    const result = await request.audited(
      { action: 'indicator.edit', subject: indicatorSubject(id), after: { ...read.facts } },
      () => indicators.edit(id, read.facts, form.version || null),
      (edit) => (edit.state === 'changed' ? changedFacts(edit.before, edit.after) : null),
    );
    if (result.state === 'conflict')
      return page(reply.code(409), id, {
        form: { ...formOf(result.merged), version: result.version },
        conflict: result,
      });
    if (result.state === 'same') return reply.leadTo(indicatorPath(id), 'Nothing changed.');
    return reply.leadTo(indicatorPath(id), await queueRebuild(area, request, `${id} is changed`));
  });
}

/** Queues a rebuild after a change. @returns the notice for the operator */
export async function queueRebuild(area: AdminArea, request: FastifyRequest, done: string): Promise<string> {
  await area.jobs.rebuild({ by: actorOf(request) });
  return `${done}. The catalogue is being rebuilt; see Runs.`;
}

/** The changed fields for the audit log. */
function changedFacts(before: EditableFacts, after: EditableFacts) {
  const changed = EDITABLE.filter((field) => before[field] !== after[field]);
  const pick = (facts: AuditFacts): AuditFacts =>
    Object.fromEntries(changed.map((field) => [field, facts[field] ?? null]));
  return { before: pick(auditFactsOf(before)), after: pick(auditFactsOf(after)) };
}

/** Another operator's edit that a form did not know; `sent` is null for a field that the form did not change. */
function buildConflict(
  { merged, changedMeanwhile, changedByForm }: Merge,
  current: AdminIndicator,
  entries: readonly AuditEntry[],
) {
  const last = entries.find(({ action }) => action === 'indicator.edit' || action === 'indicator.reset');
  return {
    by: last?.by ?? '',
    at_ms: last?.at_ms ?? null,
    fields: changedMeanwhile.map((field: EditableField) => ({
      label: FIELD_LABELS[field],
      current: factText(current, field),
      sent: changedByForm.includes(field) ? factText(merged, field) : null,
    })),
  };
}

/** `record` is the public record as JSON; null while no served snapshot has the indicator. */
function buildPreview(indicator: AdminIndicator, edited: EditableFacts) {
  const record = indicator.served && { ...indicator.served, ...auditFactsOf(edited) };
  return {
    changes: changesBetween(indicator.served ?? indicator, edited),
    record: record && JSON.stringify(record, null, 2),
  };
}

const coverageChart = (byYear: readonly { year: number; countries: number }[]): Chart =>
  barChart(
    'coverage',
    'Countries with a value',
    byYear.map(({ year, countries }) => ({ label: String(year), value: countries })),
    'years',
  );

/** `to` makes a repeated form harmless. Without it, the route toggles. */
const toggleFields = z.object({ to: z.enum(['', 'enabled', 'disabled']).default('') });
type Toggle = z.output<typeof toggleFields>;

function indicatorActionRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { indicators, snapshots } = area;

  confirmedAction(scope, area, {
    path: '/indicators/:id/toggle',
    fields: toggleFields,
    reason: ({ to }) => (to === 'disabled' ? REASON : null),
    async ask(request, { to }) {
      const indicator = await indicators.get(idOf(request));
      const count = snapshots.current()?.manifest.counts.indicators ?? 0;
      return willBeEnabled(indicator, to) ? publication(indicator) : withdrawal(indicator, count);
    },
    act: (request, _reply, { fields, reason }) => toggle(request, fields, reason),
  });

  async function toggle(request: FastifyRequest, { to }: Toggle, reason: string): Promise<Outcome> {
    const id = idOf(request);
    const current = await indicators.get(id);
    const enabled = willBeEnabled(current, to);
    const { before, after } = await request.audited(
      {
        action: enabled ? 'indicator.enable' : 'indicator.disable',
        subject: indicatorSubject(id),
        before: { enabled: current.enabled },
        after: { enabled },
        reason,
      },
      () => indicators.setEnabled(id, enabled),
      (change) => (change.before === change.after ? null : {}),
    );
    const state = enabled ? 'published' : 'unpublished';
    if (before === after) return { path: indicatorPath(id), notice: `${id} is already ${state}.` };
    return { path: indicatorPath(id), notice: await queueRebuild(area, request, `${id} is ${state}`) };
  }

  confirmedAction(scope, area, {
    path: '/indicators/:id/reset',
    fields: z.object({}),
    reason: () => OPTIONAL_REASON,
    ask: async (request) => resetting(await indicators.get(idOf(request))),
    async act(request, _reply, { reason }) {
      const id = idOf(request);
      await indicators.get(id);
      const { before, after } = await request.audited(
        { action: 'indicator.reset', subject: indicatorSubject(id), reason },
        () => indicators.reset(id),
        (change) => (change.before === change.after ? null : changedFacts(change.before, change.after)),
      );
      const path = indicatorPath(id);
      if (before === after) return { path, notice: `${id} has no edits to take back.` };
      return { path, notice: await queueRebuild(area, request, `${id} is as published upstream again`) };
    },
  });
}

const willBeEnabled = ({ enabled }: AdminIndicator, to: Toggle['to']): boolean =>
  to === '' ? !enabled : to === 'enabled';

function withdrawal({ id, name, featured, served }: AdminIndicator, count: number): Confirmation {
  const { n_countries = 0, yr_min = null, yr_max = null } = served?.coverage ?? {};
  return {
    title: `Unpublish ${name}`,
    effects: [
      'Removes the indicator, its values and its rankings from every public route when the rebuild is finished. Whoever asks for it then gets the status 404.',
      'Its edits are kept, and it can be published again.',
    ],
    figures: [
      { label: 'Id', value: id },
      { label: 'Countries', value: formatCount(n_countries) },
      { label: 'Years', value: yr_min === null ? '–' : `${yr_min} to ${yr_max}` },
      { label: 'Featured', value: featured ? 'yes' : 'no' },
      { label: 'Public indicators', value: formatChange(count, served ? count - 1 : count) },
    ],
    button: 'Unpublish and rebuild',
    values: { to: 'disabled' },
    back: indicatorPath(id),
  };
}

const publication = ({ id, name }: AdminIndicator): Confirmation => ({
  title: `Publish ${name}`,
  effects: [
    'Adds the indicator, its values and its rankings to every public route when the rebuild is finished.',
  ],
  figures: [{ label: 'Id', value: id }],
  button: 'Publish and rebuild',
  isHarmless: true,
  values: { to: 'enabled' },
  back: indicatorPath(id),
});

function resetting(indicator: AdminIndicator): Confirmation {
  const { id, name, original } = indicator;
  return {
    title: `Reset ${name}`,
    effects: [
      'Takes all edits back. The public record is as published upstream when the rebuild is finished.',
      'The history of changes keeps the edits.',
    ],
    figures: changesBetween(indicator, original).map(({ label, before, after }) => ({
      label,
      value: `${before || 'none'} → ${after || 'none'}`,
    })),
    button: 'Reset to upstream',
    back: indicatorPath(id),
  };
}
