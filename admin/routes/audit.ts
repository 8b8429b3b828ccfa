/** The audit log, newest first. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import { founderOf } from '../../gateway/commerce/accounts/accounts.ts';
import {
  type AuditFilter,
  type AuditLog,
  accountSubject,
  isGap,
  matchesFilter,
  personSubject,
  searchAudit,
} from '../../gateway/commerce/history/history.ts';
import { formatField, integerField, parseFields, textField, withQuery } from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import { sendRecords } from '../list.ts';

const PATH = '/admin/audit';

/** A UTC day; blank for none. */
const dayField = z
  .string()
  .refine((text) => text === '' || !Number.isNaN(startOfDay(text)), 'a date such as 2026-11-21')
  .default('');

const query = z.object({
  person: textField(254),
  action: textField(100),
  from: dayField,
  to: dayField,
  before: z
    .string()
    .regex(/^(\d+-\d+)?$/)
    .default(''),
  limit: integerField(1, 500, 100),
  format: formatField,
});
type Filters = Pick<z.output<typeof query>, 'person' | 'action' | 'from' | 'to'>;

/** Unix milliseconds; NaN when it is not a date. */
const startOfDay = (day: string): number =>
  /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;

export const AUDIT_COLUMNS = ['at', 'by', 'action', 'subject', 'before', 'after', 'reason', 'request_id'];

export function auditRoutes(scope: FastifyInstance, { audit, accounts, view: viewOf }: AdminArea): void {
  const view = viewOf('audit.njk');

  /** Customers appear in entries under ids, so an e-mail address also stands for its account and person. */
  async function peopleOf(person: string): Promise<string[]> {
    if (person === '') return [];
    const account = await accounts.findByEmail(person).catch(() => null);
    return account
      ? [person, accountSubject(account.account_id), personSubject(founderOf(account.account_id))]
      : [person];
  }

  const filterOf = async ({ person, action, from, to }: Filters): Promise<AuditFilter> => ({
    people: await peopleOf(person),
    action,
    from_ms: from === '' ? 0 : startOfDay(from),
    to_ms: to === '' ? Number.POSITIVE_INFINITY : startOfDay(to) + DAY_MS,
  });

  scope.get('/audit', async (request, reply) => {
    const { before, limit, format, ...filters } = parseFields(query, request.query);
    const filter = await filterOf(filters);
    if (format === 'csv') return sendRecords(reply, 'audit', AUDIT_COLUMNS, auditRecords(audit, { filter }));
    await audit.recoverPending();
    const page = await searchAudit(audit, filter, { before: before || undefined, limit });
    return view(reply, 'Audit log', {
      ...filters,
      audit: page.entries,
      gap: page.gap?.message ?? null,
      older: page.next ? withQuery(PATH, { ...filters, before: page.next, limit }) : null,
      csv: withQuery(PATH, { ...filters, format: 'csv' }),
    });
  });
}

/** Entries, archived ones included; a row `missing` stands for entries that cannot be read. */
export async function* auditRecords(
  audit: AuditLog,
  { subject, filter }: { subject?: string; filter?: AuditFilter },
): AsyncGenerator<object> {
  for await (const item of audit.readAll(subject))
    if (isGap(item)) yield { action: 'missing', reason: item.message };
    else if (!filter || matchesFilter(item, filter))
      yield { ...item, before: JSON.stringify(item.before), after: JSON.stringify(item.after) };
}
