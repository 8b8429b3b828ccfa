/** Providers without a good run for too long, or whose good runs bring only old figures. */
import { outdatedSince_ms, type ProviderFreshness } from '../provider-freshness.ts';
import { type AttentionItem, type AttentionSource, counted, listNames } from './item.ts';
import { endedRuns } from './run-history.ts';

const pathOf = (id: string): string => `/admin/runs?subject=${encodeURIComponent(id)}`;

function staleItem({
  id,
  name,
  state,
  cadence,
  last_ok_ms,
  newest_year,
}: ProviderFreshness): AttentionItem[] {
  if (state === 'late') {
    const rhythm = cadence === null ? '' : `, though it publishes ${cadence}`;
    return [
      {
        severity: 'warning',
        what: `${name} has had no successful run for too long${rhythm}.`,
        since_ms: last_ok_ms,
        path: pathOf(id),
        action: 'See its runs',
        condition: id,
      },
    ];
  }
  if (state !== 'outdated' || newest_year === null) return [];
  return [
    {
      severity: 'warning',
      what: `The newest year of ${name} is ${newest_year}, though its runs succeed.`,
      since_ms: outdatedSince_ms(newest_year),
      path: pathOf(id),
      action: 'Check its source',
      condition: id,
    },
  ];
}

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
      path: '/admin/runs',
      action: 'Start a run',
    };
    return [
      ...providers.flatMap(({ freshness }) => staleItem(freshness)),
      ...(names.length > 0 ? [unread] : []),
    ];
  },
};
