/** What all callers did, day by day and route by route. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { UsageCounts } from '../../gateway/metering/metering.ts';
import { barChart, type Chart } from '../../gateway/pages/shared/chart.ts';
import { sendCsv } from '../../gateway/pages/shared/csv-export.ts';
import { count, format, readFields } from '../../gateway/pages/shared/fields.ts';
import { link } from '../../gateway/pages/shared/paging.ts';
import type { AdminArea } from '../context.ts';
import { totalUsage } from '../usage-totals.ts';

const PATH = '/admin/usage';
const query = z.object({ days: count(1, 365, 30), format });
const SERIES = [
  ['requests', 'Requests'],
  ['errors', 'Errors'],
  ['rows', 'Rows'],
  ['credits', 'Credits'],
] as const satisfies [keyof UsageCounts, string][];

interface UsagePage {
  days: number;
  charts: Chart[];
  endpoints: ({ route: string } & UsageCounts)[];
  totals: UsageCounts;
  csv: string;
}

export function usageRoutes(scope: FastifyInstance, { redis, now, view: viewOf }: AdminArea): void {
  const view = viewOf<UsagePage>('usage.njk');

  scope.get('/usage', async (request, reply) => {
    const { days, format } = readFields(query, request.query);
    const { daily, endpoints, totals } = await totalUsage(redis, now(), days);
    if (format === 'csv') {
      const rows = daily.map(({ date, requests, errors, rows, credits }) => [
        date,
        requests,
        errors,
        rows,
        credits,
      ]);
      return sendCsv(reply, 'usage', ['date', 'requests', 'errors', 'rows', 'credits'], rows);
    }
    const charts = SERIES.map(([name, title]) =>
      barChart(
        name,
        title,
        daily.map((day) => ({ label: day.date, value: day[name] })),
      ),
    );
    return view(reply, 'Usage', {
      days,
      charts,
      endpoints,
      totals,
      csv: link(PATH, { days, format: 'csv' }),
    });
  });
}
