/** Whether the books agree, account by account. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Cell, sendCsv } from '../../gateway/pages/shared/csv-export.ts';
import { formatField, parseFields } from '../../gateway/pages/shared/forms.ts';
import { type AdminArea, userPath } from '../context.ts';
import type { Discrepancy } from '../reconcile/compare.ts';
import type { ReconcileProgress, Reconciliation } from '../reconcile/reconciler.ts';

/** A page waits this long for a reading; a longer one shows its progress and the outcome before it. */
const PATIENCE_MS = 3_000;
const SHOWN = 500;

const query = z.object({ format: formatField });

interface ReconcilePage {
  last: Reconciliation | null;
  progress: ReconcileProgress | null;
  discrepancies: (Discrepancy & { user: string; off: number })[];
}

const COLUMNS = ['account_id', 'email', 'check', 'what', 'stands', 'should_be', 'off_by', 'since'];

export function reconcileRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view<ReconcilePage>('reconcile.njk');

  scope.get('/reconcile', async (request, reply) => {
    const { format } = parseFields(query, request.query);
    await area.reconciler.refresh(PATIENCE_MS);
    const { last, progress } = area.reconciler;
    const found = last?.discrepancies ?? [];
    if (format === 'csv')
      return sendCsv(reply, 'reconcile', COLUMNS, [
        ...found.map(row),
        ...(last?.problems ?? []).map(problemRow),
      ]);
    const discrepancies = found
      .slice(0, SHOWN)
      .map((one) => ({ ...one, user: userPath(one.account_id), off: one.stands - one.should_be }));
    return view(reply, 'Reconcile', { last, progress, discrepancies });
  });
}

const row = ({ account_id, email, check, what, stands, should_be, since_ms }: Discrepancy): Cell[] => [
  ...[account_id, email, check, what],
  ...[stands, should_be, stands - should_be],
  since_ms === null ? '' : new Date(since_ms).toISOString(),
];

/** What is wrong with the archive itself stands below the accounts. */
const problemRow = (says: string): Cell[] => ['', '', 'archive', says, '', '', '', ''];
