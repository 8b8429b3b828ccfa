/**
 * Publishes and unpublishes an indicator, and takes its edits back. Unpublishing and resetting ask first; see
 * `gateway/commerce/people/confirmation.ts`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  type Confirmation,
  confirmedAction,
  formatChange,
  formatCount,
  OPTIONAL_REASON,
  type Outcome,
  REASON,
} from '../../gateway/commerce/people/people.ts';
import { type AdminArea, auditedChange } from '../context.ts';
import type { AdminIndicator } from '../indicator-admin.ts';
import { changedFacts, changesBetween, indicatorPath, indicatorSubject, queueRebuild } from './indicator.ts';

/** `to` makes a repeated form harmless. Without it, the route toggles. */
const toggleFields = z.object({ to: z.enum(['', 'enabled', 'disabled']).default('') });
type Toggle = z.output<typeof toggleFields>;

const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;

export function indicatorActionRoutes(scope: FastifyInstance, area: AdminArea): void {
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
    const { before, after } = await auditedChange(
      area,
      request,
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
      const { before, after } = await auditedChange(
        area,
        request,
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
    isDestructive: true,
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
  isDestructive: false,
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
    isDestructive: true,
    back: indicatorPath(id),
  };
}
