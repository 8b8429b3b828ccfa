/** Usage of all callers by day and by route. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { DAY_MS, dateOfDay, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { foldUsage, type UsageCounts, type UsageReport } from '../../gateway/api/metering/metering.ts';
import { formatField, integerField, parseFields, TableSort, withQuery } from '../../gateway/web/forms.ts';
import { barChart, type Point } from '../../gateway/web/templates.ts';
import type { AdminArea } from '../context.ts';
import { sendRecords } from '../list.ts';

type RouteUsage = { route: string } & UsageCounts;
const ROUTE_SORT = new TableSort<RouteUsage>({
  route: ({ route }) => route,
  requests: ({ requests }) => requests,
  errors: ({ errors }) => errors,
  rows: ({ rows }) => rows,
  credits: ({ credits }) => credits,
});

const PATH = '/admin/usage';
const query = z.object({ days: integerField(1, 365, 30), sort: ROUTE_SORT.field, format: formatField });
const SERIES = [
  ['requests', 'Requests'],
  ['errors', 'Errors'],
  ['rows', 'Rows'],
  ['credits', 'Credits'],
] as const satisfies [keyof UsageCounts, string][];

export function usageRoutes(scope: FastifyInstance, { redis, now, view: viewOf }: AdminArea): void {
  const view = viewOf('usage.njk');

  scope.get('/usage', async (request, reply) => {
    const { days, sort, format } = parseFields(query, request.query);
    const { daily, endpoints, totals } = await readTotalUsage(redis, now(), days);
    if (format === 'csv') return sendRecords(reply, 'usage', USAGE_COLUMNS, daily);
    const charts = SERIES.map(([name, title]) =>
      barChart(
        name,
        title,
        daily.map((day) => ({ label: day.date, value: day[name] })),
      ),
    );
    return view(reply, 'Usage', {
      days,
      sort,
      sorts: ROUTE_SORT.links(PATH, { days }, sort),
      charts,
      endpoints: ROUTE_SORT.sort(endpoints, sort),
      totals,
      csv: withQuery(PATH, { days, format: 'csv' }),
    });
  });
}

export const USAGE_COLUMNS = ['date', 'requests', 'errors', 'rows', 'credits'];

const lastDays = (now_ms: number, days: number): number[] =>
  Array.from({ length: days }, (_, index) => dayOf(now_ms) - days + 1 + index);

/** Usage of the last `days` UTC days including today, oldest first; see `gateway/api/metering/usage.ts`. */
export async function readTotalUsage(
  redis: RedisClient,
  now_ms: number,
  days: number,
): Promise<Omit<UsageReport, 'credits'>> {
  const numbers = lastDays(now_ms, days);
  const hashes = await Promise.all(numbers.map((day) => redis.hgetall(redisKeys.globalUsage(day))));
  return foldUsage(numbers.map((day, index) => ({ date: dateOfDay(day), counters: hashes[index] ?? {} })));
}

/** Number of members by day of a sorted set whose scores are creation times. */
export async function countPerDay(
  redis: RedisClient,
  key: string,
  now_ms: number,
  days: number,
): Promise<Point[]> {
  const numbers = lastDays(now_ms, days);
  const counts = await Promise.all(
    numbers.map((day) => redis.zcount(key, day * DAY_MS, `(${(day + 1) * DAY_MS}`)),
  );
  return numbers.map((day, index) => ({ label: dateOfDay(day), value: counts[index] ?? 0 }));
}
