/** Usage by day, by route and by key, and the current rate windows. */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { DAY_MS, dayOf, MINUTE_MS, minuteOf, redisKeys } from '../../../../data/schema/redis-keys.ts';
import {
  foldUsage,
  foldUsageByKey,
  readUsageDays,
  type Tier,
  type TierLimits,
  type UsageCounts,
} from '../../../api/metering/metering.ts';
import { type Cell, formatField, integerField, parseFields, sendCsv } from '../../../web/forms.ts';
import { barChart, type Chart } from '../../../web/templates.ts';
import type { KeyRecord } from '../../accounts/accounts.ts';
import type { ConnectionRecord } from '../../connections/connections.ts';
import { type AccountContext, accountIdOf, accountOf } from '../context.ts';

const query = z.object({ days: integerField(1, 90, 30), format: formatField });
const DAY_CHOICES = [1, 7, 30, 90];

export function usageRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('usage.njk');

  scope.get('/usage', async (request, reply) => {
    const { days, format } = parseFields(query, request.query);
    const account_id = accountIdOf(request);
    const now_ms = context.now();
    const usage = await readUsageDays(context.redis, account_id, days, now_ms);
    const { totals, daily, endpoints } = foldUsage(usage);
    if (format === 'csv') {
      const rows = daily.map((day): Cell[] => [day.date, day.requests, day.errors, day.rows, day.credits]);
      return sendCsv(reply, 'usage', ['date', 'requests', 'errors', 'rows', 'credits'], rows);
    }
    const { tier } = await accountOf(context, request);
    const chartOf = (name: keyof UsageCounts, title: string): Chart =>
      barChart(
        name,
        title,
        daily.map((day) => ({ label: day.date, value: day[name] })),
      );
    return view(reply, 'Usage', {
      days,
      dayChoices: DAY_CHOICES,
      totals,
      endpoints,
      keys: withLabels(
        foldUsageByKey(usage),
        await context.accounts.keys.list(account_id),
        await context.connections.list(account_id),
      ),
      charts: [
        chartOf('requests', 'Requests'),
        chartOf('credits', 'Credits'),
        chartOf('rows', 'Rows'),
        chartOf('errors', 'Errors'),
      ],
      windows: await readRateWindows(context.redis, context.settings, account_id, tier, now_ms),
      tier,
      csv: `/account/usage?days=${days}&format=csv`,
    });
  });
}

/** The label of a key or the name of a connected host; empty for a key that is no longer listed. */
function withLabels(
  usage: readonly ({ key_id: string } & UsageCounts)[],
  keys: readonly KeyRecord[],
  connections: readonly ConnectionRecord[],
) {
  const labels = new Map(keys.map(({ key_id, label }) => [key_id, label]));
  const hosts = new Map(connections.map(({ connection_id, client_name }) => [connection_id, client_name]));
  return usage.map((counts) => ({
    ...counts,
    label: labels.get(counts.key_id) ?? hosts.get(counts.key_id) ?? '',
    isListed: labels.has(counts.key_id),
  }));
}

/** Usage of an account's rate windows: fixed UTC minutes and days, shared by its keys. */
async function readRateWindows(
  redis: RedisClient,
  limits: TierLimits,
  account_id: string,
  tier: Tier,
  now_ms: number,
) {
  const [minute, day] = [minuteOf(now_ms), dayOf(now_ms)];
  const [inMinute, inDay] = await Promise.all([
    redis.get(redisKeys.minute(account_id, minute)),
    redis.get(redisKeys.day(account_id, day)),
  ]);
  const prefix = tier.toUpperCase() as Uppercase<Tier>;
  const window = (used: string | null, limit: number, resets_at_ms: number) => ({
    used: Number(used ?? 0),
    limit,
    resets_at_ms,
  });
  return {
    minute: window(inMinute, limits[`${prefix}_PER_MINUTE`], (minute + 1) * MINUTE_MS),
    day: window(inDay, limits[`${prefix}_PER_DAY`], (day + 1) * DAY_MS),
  };
}
