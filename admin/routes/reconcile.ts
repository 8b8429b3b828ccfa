/** Starts a reconciliation and shows its progress and the result of the last one. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { formatField, parseFields } from '../../gateway/web/forms.ts';
import { type AdminArea, userPath } from '../context.ts';
import { sendRecords } from '../list.ts';

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
    if (format === 'csv') {
      const records = found.map((one) => ({
        ...one,
        stands: one.actual,
        should_be: one.expected,
        off_by: one.actual - one.expected,
      }));
      const problems = (last?.problems ?? []).map((what) => ({ check: 'archive', what }));
      return sendRecords(reply, 'reconcile', COLUMNS, [...records, ...problems]);
    }
    const discrepancies = found
      .slice(0, SHOWN)
      .map((one) => ({ ...one, user: userPath(one.account_id), off: one.actual - one.expected }));
    return view(reply, 'Reconciliation', { last, progress, discrepancies });
  });
}
