/** The audit log, newest first. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { AuditEntry, AuditLog } from '../../gateway/accounts/audit/audit-log.ts';
import { isGap } from '../../gateway/archive/entries.ts';
import { type Cell, sendCsv } from '../../gateway/pages/shared/csv-export.ts';
import { formatField, integerField, parseFields, withQuery } from '../../gateway/pages/shared/forms.ts';
import type { AdminArea } from '../context.ts';

const PATH = '/admin/audit';

const query = z.object({
  before: z
    .string()
    .regex(/^(\d+-\d+)?$/)
    .default(''),
  limit: integerField(1, 500, 100),
  format: formatField,
});

interface AuditPage {
  audit: AuditEntry[];
  /** Why entries older than these cannot be shown; null when they can. */
  gap: string | null;
  older: string | null;
  csv: string;
}

export const AUDIT_COLUMNS = ['at', 'by', 'action', 'subject', 'before', 'after', 'reason', 'request_id'];

export const auditRow = ({
  at_ms,
  by,
  action,
  subject,
  before,
  after,
  reason,
  request_id,
}: AuditEntry): Cell[] => [
  ...[new Date(at_ms).toISOString(), by, action, subject],
  ...[JSON.stringify(before), JSON.stringify(after), reason, request_id],
];

export function auditRoutes(scope: FastifyInstance, { audit, view: viewOf }: AdminArea): void {
  const view = viewOf<AuditPage>('audit.njk');

  scope.get('/audit', async (request, reply) => {
    const { before, limit, format } = parseFields(query, request.query);
    if (format === 'csv') return sendCsv(reply, 'audit', AUDIT_COLUMNS, auditRows(audit));
    await audit.recoverPending();
    const { entries, gap } = await audit.page({ limit: limit + 1, ...(before !== '' && { before }) });
    const shown = entries.slice(0, limit);
    const isLast = entries.length <= limit;
    const last = isLast ? gap?.before : shown.at(-1)?.id;
    return view(reply, 'Audit log', {
      audit: shown,
      gap: isLast ? (gap?.message ?? null) : null,
      older: last ? withQuery(PATH, { before: last, limit }) : null,
      csv: `${PATH}?format=csv`,
    });
  });
}

/** Entries of one subject or of all, archived ones included; a row `missing` stands for entries that cannot be read. */
export async function* auditRows(audit: AuditLog, subject?: string): AsyncGenerator<Cell[]> {
  for await (const item of audit.readAll(subject))
    yield isGap(item) ? ['', '', 'missing', '', '', '', item.message, ''] : auditRow(item);
}
