/** Figures that are old, or most likely wrong. */
import { counted } from '../../gateway/commerce/people/people.ts';
import { isOpen, readFindings } from '../findings.ts';
import { oldestFreshYear, outdatedSince_ms, type ProviderFreshness } from '../provider-freshness.ts';
import { RUNS_PATH, runsOf } from '../routes/runs.ts';
import { type AttentionItem, type AttentionSource, listNames } from './item.ts';
import { endedRuns } from './runs.ts';

function staleItem(freshness: ProviderFreshness): AttentionItem[] {
  const { id, name, state, cadence, last_ok_ms, newest_year } = freshness;
  const item = { severity: 'warning', path: runsOf(id), condition: id } as const;
  if (state === 'late') {
    const rhythm = cadence === null ? '' : `, though it publishes ${cadence}`;
    const what = `${name} has had no successful run for too long${rhythm}.`;
    return [{ ...item, what, since_ms: last_ok_ms, action: 'See its runs' }];
  }
  if (state !== 'outdated' || newest_year === null) return [];
  const what = `The newest year of ${name} is ${newest_year}, though its runs succeed.`;
  return [{ ...item, what, since_ms: outdatedSince_ms(newest_year), action: 'Check its source' }];
}

/** Providers without a good run for too long, or whose good runs bring only old figures. */
export const staleProviders: AttentionSource = {
  finds: 'stale providers',
  conditions: 'stale-provider',
  find({ providers }) {
    const never = providers.filter(
      ({ freshness, runs }) =>
        freshness.state === 'never' && endedRuns(runs).every(({ record }) => record?.starter),
    );
    const names = never.map(({ definition }) => definition.id);
    const unread: AttentionItem = {
      severity: 'notice',
      what: `${counted(names.length, 'provider was', 'providers were')} never read: ${listNames(names)}.`,
      since_ms: null,
      path: RUNS_PATH,
      action: 'Start a run',
    };
    return [
      ...providers.flatMap(({ freshness }) => staleItem(freshness)),
      ...(names.length > 0 ? [unread] : []),
    ];
  },
};

/** Featured series of the served snapshot whose newest observed year is too old for their provider's cadence. */
export const staleSeries: AttentionSource = {
  finds: 'stale featured series',
  async find({ area, now_ms }) {
    const definitions = await area.providers();
    const records = [...(area.snapshots.current()?.catalogue.indicators.values() ?? [])].map(
      ({ record }) => record,
    );
    const stale = records.flatMap((record) => {
      const oldest = oldestFreshYear(definitions.get(record.provider.id)?.cadence ?? null, now_ms);
      const newest = record.coverage?.latest_year ?? null;
      const isStale = record.featured && oldest !== null && newest !== null && newest < oldest;
      return isStale ? [{ ...record, newest }] : [];
    });
    return [...Map.groupBy(stale, ({ provider }) => provider.id)].map(([id, series]) => {
      const newest = Math.max(...series.map((one) => one.newest));
      const verb = series.length === 1 ? `ends in ${newest}` : `end in ${newest} or earlier`;
      const names = series.map(({ name, newest: year }) => `${name} (${year})`);
      return {
        severity: 'notice',
        what: `${counted(series.length, 'featured series', 'featured series')} of ${series[0]?.provider.name ?? id} ${verb}: ${listNames(names)}.`,
        since_ms: outdatedSince_ms(newest),
        path: `/admin/indicators?provider=${encodeURIComponent(id)}&state=featured`,
        action: 'Change what is featured',
      };
    });
  },
};

/** Quality: figures and labels that are most likely wrong, and nobody has decided about. */
export const openQualityErrors: AttentionSource = {
  finds: 'undecided quality errors',
  async find({ area }) {
    const findings = (await readFindings(area))?.findings ?? [];
    const open = findings.filter((one) => one.severity === 'error' && isOpen(one));
    if (open.length === 0) return [];
    const subjects = [...new Set(open.map(({ indicator, provider }) => indicator ?? provider))];
    const noun = counted(open.length, 'quality error is', 'quality errors are');
    return [
      {
        severity: 'warning',
        what: `${noun} undecided: ${listNames(subjects)}.`,
        since_ms: Math.min(...open.map(({ first_seen }) => Date.parse(first_seen))),
        path: '/admin/quality?severity=error&state=open&by=check',
        action: 'Decide',
      },
    ];
  },
};
