/** Lists providers and shows one: freshness, licence, runs, and whether it is switched on. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RunStore } from '../../data/runtime/run-store.ts';
import { SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import type { ProviderDecision } from '../../data/schema/operator-changes.ts';
import {
  type Confirmation,
  confirmedAction,
  counted,
  formatCount,
  REASON,
} from '../../gateway/commerce/people/people.ts';
import {
  formatField,
  PageError,
  parseFields,
  TableSort,
  textField,
  withQuery,
} from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, idOf, shownChanges } from '../context.ts';
import { versionOf } from '../decision-store.ts';
import { listLinks, sendRecords } from '../list.ts';
import { listProviderRuns } from '../provider-freshness.ts';
import type { ServedSnapshot } from '../snapshots.ts';
import { queueRebuild } from './indicator.ts';
import { runChoice } from './run-comparison.ts';
import { summariseRun } from './runs.ts';

const PATH = '/admin/providers';
const SHOWN_RUNS = 20;
const RECENT_BUILDS = 20;

const SORT = new TableSort<AdminProvider>({
  name: ({ name }) => name,
  licence: ({ definition }) => definition.licence,
  indicators: ({ indicators }) => indicators,
  freshness: ({ freshness }) => freshness,
  last: ({ last_ok_ms }) => last_ok_ms,
});
const listQuery = z.object({ sort: SORT.field, format: formatField });
const switchFields = z.object({
  to: z.enum(['on', 'off'], { error: 'on or off' }),
  /** The decision that the operator saw. */
  seen: textField(20),
});
type Switch = z.output<typeof switchFields>;

const providerPath = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;
const providerSubject = (id: string): string => `provider ${id}`;

export function providerRoutes(scope: FastifyInstance, area: AdminArea): void {
  const listView = area.view('providers.njk');
  const providerView = area.view('provider.njk');

  async function find(request: FastifyRequest): Promise<AdminProvider> {
    const id = idOf(request);
    const provider = (await listProviders(area)).find((one) => one.id === id);
    if (!provider) throw new PageError(404, `There is no provider ${id}.`);
    return provider;
  }

  scope.get('/providers', async (request, reply) => {
    const { sort, format } = parseFields(listQuery, request.query);
    const providers = SORT.sort(await listProviders(area), sort);
    if (format === 'csv') return sendRecords(reply, 'providers', COLUMNS, providers.map(record));
    return listView(reply, 'Providers', {
      providers: providers.map((provider) => ({ ...provider, path: providerPath(provider.id) })),
      ...listLinks(PATH, {}, { order: SORT, sort }),
    });
  });

  scope.get('/providers/:id', async (request, reply) => {
    const provider = await find(request);
    const { id, name, enabled, decision } = provider;
    return providerView(reply, name, {
      provider,
      path: providerPath(id),
      decision,
      switchPath: withQuery(`${providerPath(id)}/switch`, {
        to: enabled ? 'off' : 'on',
        seen: versionOf(decision),
      }),
      runs: provider.runs.slice(0, SHOWN_RUNS).map((run) => summariseRun(run, area.now())),
      choice: runChoice(id, provider.runs),
      ...(await shownChanges(area, providerSubject(id))),
    });
  });

  confirmedAction(scope, area, {
    path: '/providers/:id/switch',
    fields: switchFields,
    reason: () => REASON,
    ask: async (request, fields) => question(await find(request), fields),
    async act(request, _reply, { fields: { to, seen }, reason }) {
      const { id, name, enabled: before } = await find(request);
      const enabled = to === 'on';
      const path = providerPath(id);
      if (enabled === before) return { path, notice: `${name} is already switched ${to}.` };
      const decision = { enabled, reason, by: actorOf(request), decided_at_ms: area.now() };
      const change = {
        action: `provider.switch_${to}`,
        subject: providerSubject(id),
        reason,
        before: { enabled: before },
        after: { enabled },
      };
      await request.audited(change, () => area.decisions.providers.replace([{ id, seen, next: decision }]));
      return { path, notice: await queueRebuild(area, request, `${name} is switched ${to}`) };
    },
  });
}

function question({ id, name, definition, indicators, rows }: AdminProvider, fields: Switch): Confirmation {
  const { to } = fields;
  return {
    title: `Switch ${name} ${to}`,
    effects:
      to === 'off'
        ? [
            'Removes all its indicators from every public route and from every earlier snapshot when the rebuild is finished. Whoever asks for them then gets the status 404.',
            'It is not read by nightly runs until it is switched on again. What was read stays in the lake.',
          ]
        : [
            'Publishes what its licence allows when the rebuild is finished, from the last good run. Nightly runs read it again.',
          ],
    figures: [
      { label: 'Provider', value: id },
      { label: 'Licence', value: definition.licence },
      { label: 'Public indicators', value: counted(indicators, 'indicator', 'indicators') },
      { label: 'Rows of its last good run', value: rows === null ? '–' : formatCount(rows) },
    ],
    button: to === 'off' ? 'Switch off and rebuild' : 'Switch on and rebuild',
    isHarmless: to === 'on',
    values: { ...fields },
    back: providerPath(id),
  };
}

const COLUMNS = [
  ...['id', 'name', 'enabled', 'pending', 'decided_by', 'reason', 'licence', 'redistributable'],
  ...['access_tier', 'cadence', 'freshness', 'last_successful_run', 'rows', 'newest_year'],
  'public_indicators',
];

const record = (provider: AdminProvider) => ({
  ...provider.definition,
  ...provider,
  pending: provider.isPending,
  decided_by: provider.decision?.by,
  reason: provider.decision?.reason,
  last_successful_run_ms: provider.last_ok_ms,
  public_indicators: provider.indicators,
});

type AdminProvider = Awaited<ReturnType<typeof listProviders>>[number];

/** All providers, switched off ones included, in the order of ids. */
async function listProviders(area: AdminArea) {
  const [all, decided, built_ms] = await Promise.all([
    listProviderRuns(area, () => true),
    area.decisions.providers.all(),
    lastBuildStart(area.runs),
  ]);
  const served = servedCounts(area.snapshots.current());
  return all.map(({ definition, runs, freshness }) => {
    const { id, name, enabled } = definition;
    const decision = decided.get(id) ?? null;
    const indicators = served.get(id) ?? 0;
    return {
      id,
      name,
      definition,
      enabled,
      decision,
      runs,
      freshness: freshness.state,
      /** Number of indicators in the served snapshot. */
      indicators,
      /** Whether the served snapshot does not show the decision yet. */
      isPending: decision !== null && isPending(decision, indicators, built_ms),
      last_ok_ms: freshness.last_ok_ms,
      rows: freshness.rows,
      newest_year: freshness.newest_year,
    };
  });
}

/** A provider that is switched on may have nothing that can be published. */
const isPending = (
  { enabled, decided_at_ms }: ProviderDecision,
  indicators: number,
  built_ms: number,
): boolean => (enabled ? indicators === 0 && built_ms < wholeSeconds(decided_at_ms) : indicators > 0);

/** As the times of runs are. */
const wholeSeconds = (time_ms: number): number => Math.floor(time_ms / 1_000) * 1_000;

/** When the last build that succeeded started; 0 for none. */
async function lastBuildStart(store: RunStore): Promise<number> {
  const { runs } = await store.list({ subject: SNAPSHOT_SUBJECT, limit: RECENT_BUILDS });
  const built = runs.find(({ status }) => status === 'succeeded');
  return built ? Date.parse(built.started_at) : 0;
}

function servedCounts(snapshot: ServedSnapshot | null): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { record } of snapshot?.catalogue.indicators.values() ?? [])
    counts.set(record.provider.id, (counts.get(record.provider.id) ?? 0) + 1);
  return counts;
}
