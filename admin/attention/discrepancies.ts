/** Books that disagree: faults of the archive and of the register of invoices, and accounts that do not reconcile. */
import { type AttentionItem, type AttentionSource, counted, listNames } from './item.ts';

const PATH = '/admin/reconcile';
const ACTION = 'See the reconciliation';

export const discrepancies: AttentionSource = {
  finds: 'books that disagree',
  conditions: 'books',
  isComplete: ({ reconciliation }) => reconciliation !== null,
  find({ area, reconciliation }) {
    const { failed_at_ms } = area.reconciler;
    const failure: AttentionItem = {
      severity: 'critical',
      what: 'The books cannot be compared. The service log says why.',
      since_ms: failed_at_ms,
      path: PATH,
      action: 'Compare them again',
      condition: 'comparison',
    };
    const failed = failed_at_ms === null ? [] : [failure];
    if (reconciliation === null) return failed;
    const { problems, invoice_problems, discrepancies: found, finished_at_ms } = reconciliation;
    const [problem] = problems;
    const others = problems.length > 1 ? ` and ${problems.length - 1} more` : '';
    const emails = [...new Set(found.map(({ email, account_id }) => email || account_id))];
    const starts = found.flatMap(({ since_ms }) => (since_ms === null ? [] : [since_ms]));
    const archive: AttentionItem = {
      severity: 'critical',
      what: `The archive has problems: ${problem ?? ''}${others}.`,
      since_ms: finished_at_ms,
      path: PATH,
      action: ACTION,
      condition: 'archive',
    };
    const invoices: AttentionItem = {
      severity: 'critical',
      what: `The invoices have problems: ${invoice_problems.join('; ')}.`,
      since_ms: finished_at_ms,
      path: PATH,
      action: ACTION,
      condition: 'invoices',
    };
    const accounts: AttentionItem = {
      severity: 'critical',
      what: `Accounts do not reconcile: ${counted(found.length, 'discrepancy', 'discrepancies')} (${listNames(emails)}).`,
      since_ms: starts.length === 0 ? finished_at_ms : Math.min(...starts),
      path: PATH,
      action: ACTION,
      condition: 'accounts',
    };
    return [
      ...failed,
      ...(problem === undefined ? [] : [archive]),
      ...(invoice_problems.length === 0 ? [] : [invoices]),
      ...(found.length === 0 ? [] : [accounts]),
    ];
  },
};
