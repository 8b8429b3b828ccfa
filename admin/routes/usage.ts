/**
 * Usage of all callers by day and by route, and who used what of late: customers by their calls and credits, and indicators
 * by the customers that used them.
 */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RedisClient } from '../../data/runtime/redis.ts';
import { DAY_MS, dateOfDay, dayOf, redisKeys } from '../../data/schema/redis-keys.ts';
import {
  foldUsage,
  readUsageDays,
  readUsedDays,
  USED_DAYS,
  type UsageCounts,
  type UsageReport,
} from '../../gateway/api/metering/metering.ts';
import {
  formatField,
  integerField,
  parseFields,
  TableSort,
  textField,
  withQuery,
} from '../../gateway/web/forms.ts';
import { barChart, type Point } from '../../gateway/web/templates.ts';
import { type AdminArea, userPath } from '../context.ts';
import { LIST_FIELDS, listLinks, sendRecords } from '../list.ts';

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

export function usageRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { redis, now } = area;
  const view = area.view('usage.njk');
  customerUsageRoutes(scope, area);

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

const CUSTOMERS_PATH = '/admin/usage/customers';
/** Accounts read at once; other work of the process runs between batches. */
const BATCH = 500;
/** Indicators shown, those with most customers. */
const SHOWN_INDICATORS = 100;

interface Customer extends UsageCounts {
  account_id: string;
  /** Used in the days that are asked for. */
  indicators: { indicator: string; last_used: string }[];
}

const CUSTOMER_SORT = new TableSort<Customer>({
  requests: ({ requests }) => requests,
  errors: ({ errors }) => errors,
  rows: ({ rows }) => rows,
  credits: ({ credits }) => credits,
  indicators: ({ indicators }) => indicators.length,
});

const customerQuery = z.object({
  ...LIST_FIELDS,
  days: integerField(1, USED_DAYS, USED_DAYS),
  /** Only customers that used it. */
  indicator: textField(200),
  sort: CUSTOMER_SORT.field,
});

function customerUsageRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('customer-usage.njk');

  scope.get('/usage/customers', async (request, reply) => {
    const { days, indicator, sort, limit, offset, format } = parseFields(customerQuery, request.query);
    const all = await readCustomers(area, days);
    const wanted = all.filter(
      ({ indicators }) => indicator === '' || indicators.some((one) => one.indicator === indicator),
    );
    const found = CUSTOMER_SORT.sort(wanted, sort || '-credits');
    const named = async (some: readonly Customer[]) =>
      Promise.all(
        some.map(async (one) => {
          const { email } = await area.accounts.get(one.account_id);
          return { ...one, email, path: userPath(one.account_id), indicators: one.indicators.length };
        }),
      );
    if (format === 'csv') return sendRecords(reply, 'customers', CUSTOMER_COLUMNS, await named(found));
    const filters = { days: String(days), indicator };
    const used = byIndicator(all);
    return view(reply, 'Usage by customer', {
      ...filters,
      customers: await named(found.slice(offset, offset + limit)),
      indicators: used.slice(0, SHOWN_INDICATORS).map((one) => ({
        ...one,
        path: withQuery(CUSTOMERS_PATH, { days, indicator: one.indicator }),
      })),
      indicatorCount: used.length,
      ...listLinks(CUSTOMERS_PATH, filters, {
        order: CUSTOMER_SORT,
        sort,
        total: found.length,
        limit,
        offset,
      }),
    });
  });
}

const CUSTOMER_COLUMNS = ['account_id', 'email', 'requests', 'errors', 'rows', 'credits', 'indicators'];

/** Customers that used an indicator in the last days, today included. */
async function readCustomers({ redis, index, now }: AdminArea, days: number): Promise<Customer[]> {
  const { ids } = await index.search({ q: '', state: '', limit: Number.MAX_SAFE_INTEGER, offset: 0 });
  const since = dateOfDay(dayOf(now()) - days + 1);
  const read = async (account_id: string): Promise<Customer[]> => {
    const indicators = (await readUsedDays(redis, account_id)).filter(({ last_used }) => last_used >= since);
    if (indicators.length === 0) return [];
    const { totals } = foldUsage(await readUsageDays(redis, account_id, days, now()));
    return [{ account_id, indicators, ...totals }];
  };
  const found: Customer[] = [];
  for (let from = 0; from < ids.length; from += BATCH)
    found.push(...(await Promise.all(ids.slice(from, from + BATCH).map(read))).flat());
  return found;
}

/** With most customers first. */
function byIndicator(customers: readonly Customer[]) {
  const uses = customers.flatMap(({ indicators }) => indicators);
  return [...Map.groupBy(uses, ({ indicator }) => indicator)]
    .map(([indicator, some]) => ({
      indicator,
      customers: some.length,
      last_used:
        some
          .map(({ last_used }) => last_used)
          .sort()
          .at(-1) ?? '',
    }))
    .sort((a, b) => b.customers - a.customers || (a.indicator < b.indicator ? -1 : 1));
}
