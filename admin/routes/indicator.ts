/** One indicator: its values, its history, and edits with a preview. Every change queues a rebuild. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { EDITABLE, type EditableFacts, type EditableField } from '../../data/schema/operator-changes.ts';
import type { AuditEntry, AuditFacts } from '../../gateway/commerce/history/history.ts';
import { redirectWithFlash } from '../../gateway/commerce/people/people.ts';
import { parseFields } from '../../gateway/web/forms.ts';
import { barChart, type Chart } from '../../gateway/web/templates.ts';
import { type AdminArea, actorOf, auditedChange } from '../context.ts';
import { type Merge, mergeForm } from '../edit-version.ts';
import type { AdminIndicator } from '../indicator-admin.ts';
import { type IndicatorValues, readIndicatorValues } from '../indicator-values.ts';
import {
  CHOICES,
  type EditForm,
  editForm,
  FIELD_LABELS,
  factText,
  formOf,
  readForm,
} from './indicator-form.ts';

export const INDICATORS_PATH = '/admin/indicators';
export const indicatorPath = (id: string): string => `${INDICATORS_PATH}/${encodeURIComponent(id)}`;
export const indicatorSubject = (id: string): string => `indicator ${id}`;
const AUDIT_PAGE = 20;

/** A field in two states. */
interface FieldChange {
  label: string;
  before: string;
  after: string;
}

/** Another operator's edit that a form did not know. */
interface Conflict {
  by: string;
  at_ms: number | null;
  fields: {
    label: string;
    current: string /** Null when the form did not change it. */;
    sent: string | null;
  }[];
}

interface Preview {
  changes: FieldChange[];
  /** The public record as JSON; null while no served snapshot has the indicator. */
  record: string | null;
}

interface IndicatorPage {
  indicator: AdminIndicator;
  path: string;
  form: EditForm & { problem: string };
  choices: typeof CHOICES;
  conflict: Conflict | null;
  preview: Preview | null;
  /** The operators' edits. */
  edits: FieldChange[];
  values: IndicatorValues | null;
  coverage: Chart | null;
  audit: AuditEntry[];
  /** Why older entries cannot be shown; null when they can. */
  gap: string | null;
}

/** What the page shows beyond what is stored. */
interface PageState {
  form?: EditForm;
  problem?: string;
  conflict?: Merge;
  preview?: EditableFacts;
}

export const changesBetween = (before: EditableFacts, after: EditableFacts): FieldChange[] =>
  EDITABLE.filter((field) => before[field] !== after[field]).map((field) => ({
    label: FIELD_LABELS[field],
    before: factText(before, field),
    after: factText(after, field),
  }));

const auditFactsOf = (facts: EditableFacts): AuditFacts =>
  Object.fromEntries(EDITABLE.map((field) => [field, facts[field]]));

export function indicatorRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { indicators, audit, snapshots } = area;
  const view = area.view<IndicatorPage>('indicator.njk');
  type IdParams = { Params: { id: string } };

  async function page(reply: FastifyReply, id: string, state: PageState = {}): Promise<FastifyReply> {
    const indicator = await indicators.get(id);
    const countries = snapshots.current()?.catalogue.countriesByCode;
    const [{ entries, gap }, values] = await Promise.all([
      audit.page({ subject: indicatorSubject(id), limit: AUDIT_PAGE }),
      readIndicatorValues(area.snapshotDir, id, (iso3) => countries?.get(iso3)?.name ?? iso3),
    ]);
    return view(reply, indicator.name, {
      indicator,
      path: indicatorPath(id),
      form: { ...(state.form ?? formOf(indicator)), problem: state.problem ?? '' },
      choices: CHOICES,
      conflict: state.conflict ? conflictOf(state.conflict, indicator, entries) : null,
      preview: state.preview ? previewOf(indicator, state.preview) : null,
      edits: changesBetween(indicator.original, indicator),
      values,
      coverage: values && coverageChart(values),
      audit: entries,
      gap: gap?.message ?? null,
    });
  }

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
    const result = await auditedChange(
      area,
      request,
      { action: 'indicator.edit', subject: indicatorSubject(id), after: { ...read.facts } },
      () => indicators.edit(id, read.facts, form.version || null),
      (edit) => (edit.state === 'changed' ? changedFacts(edit.before, edit.after) : null),
    );
    if (result.state === 'conflict')
      return page(reply.code(409), id, {
        form: { ...formOf(result.merged), version: result.version },
        conflict: result,
      });
    if (result.state === 'same') return redirectWithFlash(area, reply, indicatorPath(id), 'Nothing changed.');
    const notice = await queueRebuild(area, request, `${id} is changed`);
    return redirectWithFlash(area, reply, indicatorPath(id), notice);
  });
}

/** Queues a rebuild after a change. @returns the notice for the operator */
export async function queueRebuild(area: AdminArea, request: FastifyRequest, done: string): Promise<string> {
  await area.jobs.rebuild({ by: actorOf(request) });
  return `${done}. The catalogue is being rebuilt; see Runs.`;
}

/** The changed fields for the audit log. */
export function changedFacts(
  before: EditableFacts,
  after: EditableFacts,
): { before: AuditFacts; after: AuditFacts } {
  const changed = EDITABLE.filter((field) => before[field] !== after[field]);
  const pick = (facts: AuditFacts): AuditFacts =>
    Object.fromEntries(changed.map((field) => [field, facts[field] ?? null]));
  return { before: pick(auditFactsOf(before)), after: pick(auditFactsOf(after)) };
}

function conflictOf(
  { merged, changedMeanwhile, changedByForm }: Merge,
  current: AdminIndicator,
  entries: readonly AuditEntry[],
): Conflict {
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

function previewOf(indicator: AdminIndicator, edited: EditableFacts): Preview {
  const facts = Object.fromEntries(EDITABLE.map((field) => [field, edited[field]]));
  const record = indicator.served && { ...indicator.served, ...facts };
  return {
    changes: changesBetween(indicator.served ?? indicator, edited),
    record: record && JSON.stringify(record, null, 2),
  };
}

const coverageChart = ({ byYear }: IndicatorValues): Chart =>
  barChart(
    'coverage',
    'Countries with a value',
    byYear.map(({ year, countries }) => ({ label: String(year), value: countries })),
    'years',
  );
