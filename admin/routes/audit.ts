/** The audit log, newest first. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { AuditEntry, AuditLog } from '../../gateway/web/audit-log.ts';
import { type Cell, sendCsv } from '../../gateway/web/csv-export.ts';
import { count, format, readFields } from '../../gateway/web/fields.ts';
import { link } from '../../gateway/web/paging.ts';
import type { AdminArea } from '../area.ts';

const PATH = '/admin/audit';
const PIECE = 500;

const query = z.object({
  before: z
    .string()
    .regex(/^(\d+-\d+)?$/)
    .default(''),
  limit: count(1, 500, 100),
  format,
});

interface AuditPage {
  audit: AuditEntry[];
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
    const { before, limit, format } = readFields(query, request.query);
    if (format === 'csv') return sendCsv(reply, 'audit', AUDIT_COLUMNS, everything(audit));
    await audit.settle();
    const entries = await audit.list({ limit: limit + 1, ...(before !== '' && { before }) });
    const shown = entries.slice(0, limit);
    const last = entries.length > limit ? shown.at(-1) : undefined;
    return view(reply, 'Audit log', {
      audit: shown,
      older: last ? link(PATH, { before: last.id, limit }) : null,
      csv: `${PATH}?format=csv`,
    });
  });
}

async function* everything(audit: AuditLog): AsyncGenerator<Cell[]> {
  let before: string | undefined;
  do {
    const piece = await audit.list({ limit: PIECE, ...(before !== undefined && { before }) });
    yield* piece.map(auditRow);
    before = piece.length === PIECE ? piece.at(-1)?.id : undefined;
  } while (before !== undefined);
}
