/** Published snapshots: the list, rollback to an earlier one, and a rebuild from the lake. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import { SNAPSHOT_ID } from '../../data/schema/snapshot.ts';
import {
  type Confirmation,
  confirmedAction,
  counted,
  formatChange,
  REASON,
} from '../../gateway/commerce/people/people.ts';
import { PageError, parseFields, TableSort } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, idOf } from '../context.ts';
import { LIST_FIELDS, listLinks } from '../list.ts';
import { listProviderFreshness } from '../provider-freshness.ts';
import { isServable, type ListedSnapshot, listSnapshots } from '../snapshots.ts';
import { RUNS_PATH } from './runs.ts';

const PATH = '/admin/snapshots';

const SNAPSHOT_SORT = new TableSort<ListedSnapshot>({
  id: ({ id }) => id,
  published: ({ generated_at_ms }) => generated_at_ms,
  observations: ({ observations }) => observations,
  indicators: ({ indicators }) => indicators,
});
const query = z.object({ ...LIST_FIELDS, sort: SNAPSHOT_SORT.field });

export function snapshotsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('snapshots.njk');
  const directory = area.settings.SNAPSHOT_DIR;

  scope.get('/snapshots', async (request, reply) => {
    const { sort, limit, offset } = parseFields(query, request.query);
    const all = SNAPSHOT_SORT.sort(await listSnapshots(directory), sort);
    return view(reply, 'Snapshots', {
      snapshots: await Promise.all(
        all
          .slice(offset, offset + limit)
          .map(async (one) => ({ ...one, isServable: await isServable(directory, one.id) })),
      ),
      ...listLinks(PATH, {}, { order: SNAPSHOT_SORT, sort, total: all.length, limit, offset }),
    });
  });

  rebuildRoutes(scope, area);
  rollbackRoutes(scope, area);
}

function rebuildRoutes(scope: FastifyInstance, area: AdminArea): void {
  confirmedAction(scope, area, {
    path: '/rebuild',
    fields: z.object({}),
    reason: () => REASON,
    async ask() {
      const providers = await listProviderFreshness(area);
      const read = providers.filter(({ rows }) => rows !== null);
      const rows = read.reduce((sum, provider) => sum + (provider.rows ?? 0), 0);
      const { indicators = 0, observations = 0 } = area.snapshots.current()?.manifest.counts ?? {};
      return {
        title: 'Rebuild and publish',
        effects: [
          'Builds a snapshot from the lake and the operators’ changes, verifies it and publishes it.',
          'Indicators that the lake does not hold are no longer served.',
        ],
        figures: [
          {
            label: 'Served now',
            value: `${counted(indicators, 'indicator', 'indicators')}, ${counted(observations, 'observation', 'observations')}`,
          },
          {
            label: 'In the lake',
            value: `${counted(rows, 'row', 'rows')} of ${counted(read.length, 'provider', 'providers')}, as their last good runs wrote them`,
          },
          { label: 'Never read', value: counted(providers.length - read.length, 'provider', 'providers') },
        ],
        button: 'Rebuild and publish',
        back: PATH,
      };
    },
    async act(request, _reply, { reason }) {
      const change = { action: 'snapshot.rebuild', subject: SNAPSHOT_SUBJECT, reason };
      await request.audited(change, () => area.jobs.rebuild({ by: actorOf(request) }));
      return { path: RUNS_PATH, notice: 'A rebuild is queued.' };
    },
  });
}

function rollbackRoutes(scope: FastifyInstance, area: AdminArea): void {
  async function snapshotOf(request: FastifyRequest) {
    const id = idOf(request);
    const all = SNAPSHOT_ID.test(id) ? await listSnapshots(area.settings.SNAPSHOT_DIR) : [];
    const wanted = all.find((snapshot) => snapshot.id === id);
    if (!wanted) throw new PageError(404, `There is no snapshot ${id}.`);
    return { wanted, served: all.find(({ current }) => current) ?? null };
  }

  confirmedAction(scope, area, {
    path: '/snapshots/:id/rollback',
    fields: z.object({}),
    reason: () => REASON,
    async ask(request) {
      const { wanted, served } = await snapshotOf(request);
      if (!(await isServable(area.settings.SNAPSHOT_DIR, wanted.id)))
        throw new PageError(
          409,
          `Snapshot ${wanted.id} cannot be served again: its prerendered files were removed.`,
        );
      return rollback(wanted, served);
    },
    async act(request, _reply, { reason }) {
      const { wanted, served } = await snapshotOf(request);
      await request.audited(
        {
          action: 'snapshot.rollback',
          subject: SNAPSHOT_SUBJECT,
          before: { snapshot: served?.id ?? null },
          after: { snapshot: wanted.id },
          reason,
        },
        () => area.jobs.rollback(wanted.id, { by: actorOf(request), reason }),
      );
      return { path: PATH, notice: `Snapshot ${wanted.id} will be served within seconds.` };
    },
  });
}

function rollback(wanted: ListedSnapshot, served: ListedSnapshot | null): Confirmation {
  const fewer = (served?.indicators ?? 0) - wanted.indicators;
  return {
    title: `Serve snapshot ${wanted.id}`,
    effects: [
      'Every reader gets this snapshot within seconds, until the next build publishes another.',
      'Snapshots that did not lead to it count as rolled back: they answer by their id only. A running build publishes nothing.',
      'Everybody can read when and why, in /v1/editions and /v1/changes.',
      ...(fewer > 0
        ? [`It has ${counted(fewer, 'indicator', 'indicators')} fewer than the one served now.`]
        : []),
    ],
    figures: [
      { label: 'Snapshot', value: `${served?.id ?? 'none'} → ${wanted.id}` },
      { label: 'Published', value: new Date(wanted.generated_at_ms).toISOString() },
      { label: 'Indicators', value: formatChange(served?.indicators ?? 0, wanted.indicators) },
      { label: 'Observations', value: formatChange(served?.observations ?? 0, wanted.observations) },
    ],
    button: 'Serve this snapshot',
    back: PATH,
  };
}
