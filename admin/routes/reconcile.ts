/** Starts a reconciliation and shows its progress and the result of the last one. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Cell, formatField, parseFields, sendCsv } from '../../gateway/web/forms.ts';
import { type AdminArea, userPath } from '../context.ts';
import type { Discrepancy } from '../reconcile/compare.ts';

/** How long the page waits for a result before it shows progress and the previous result. */
const WAIT_MS = 3_000;
const SHOWN = 500;

const query = z.object({ format: formatField });

const COLUMNS = ['account_id', 'email', 'check', 'what', 'stands', 'should_be', 'off_by', 'since'];

export function reconcileRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('reconcile.njk');

  scope.get('/reconcile', async (request, reply) => {
    const { format } = parseFields(query, request.query);
    await area.reconciler.refresh(WAIT_MS);
    const { last, progress } = area.reconciler;
    const found = last?.discrepancies ?? [];
    if (format === 'csv')
      return sendCsv(reply, 'reconcile', COLUMNS, [
        ...found.map(row),
        ...(last?.problems ?? []).map(problemRow),
      ]);
    const discrepancies = found
      .slice(0, SHOWN)
      .map((one) => ({ ...one, user: userPath(one.account_id), off: one.actual - one.expected }));
    return view(reply, 'Reconciliation', { last, progress, discrepancies });
  });
}

const row = ({ account_id, email, check, what, actual, expected, since_ms }: Discrepancy): Cell[] => [
  ...[account_id, email, check, what],
  ...[actual, expected, actual - expected],
  since_ms === null ? '' : new Date(since_ms).toISOString(),
];

const problemRow = (problem: string): Cell[] => ['', '', 'archive', problem, '', '', '', ''];
