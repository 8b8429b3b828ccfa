/**
 * Moves the audit entries of long ago out of Redis: the prefix of the log that is older than the moment given, in parts,
 * and with each entry its twin in the stream of its subject. Parts that an earlier run wrote are taken over first.
 */
import { AUDIT_COLUMNS, auditArchivedThrough } from '../../data/schema/archive.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { DuckSession, readSql, type SqlRow } from '../runtime/duckdb.ts';
import type { PartFiles } from './archive-storage.ts';
import type { ArchiveContext, NotArchived } from './context.ts';
import { auditRow, idOf, isAfter, RowTable, type StreamEntry, timeOf } from './entry-rows.ts';
import { readScript, runScript, withRetry } from './redis-access.ts';

const AUDIT_STEPS = readSql(import.meta.url, 'sql/audit-steps.sql');
const TABLES = readSql(import.meta.url, 'sql/tables.sql');
const VERIFY_AUDIT = readSql(import.meta.url, 'sql/verify-audit.sql');
const WRITE_AUDIT = readSql(import.meta.url, 'sql/write-audit.sql');

const CARRY = readScript('trim-audit');
const STEP_ENTRIES = 100;
const PIECE = 500;
const MEMORY_MB = 512;
const AUDIT = 'audit';

export interface AuditArchived {
  parts: string[];
  entries: number;
  resumed: string[];
  left: NotArchived[];
}

/** @param before_ms entries of this moment and later stay. */
export async function archiveAudit(context: ArchiveContext, before_ms: number): Promise<AuditArchived> {
  const archived: AuditArchived = { parts: [], entries: 0, resumed: [], left: [] };
  const carry = async (name: string): Promise<boolean> => {
    const why = await carryAudit(context, context.shelf.part('audit', name));
    if (why !== null) archived.left.push({ what: AUDIT, why });
    return why === null;
  };
  for (const name of await owedParts(context)) {
    archived.resumed.push(name);
    if (!(await carry(name))) return archived;
  }
  for (;;) {
    const written = await writePart(context, before_ms);
    if (!written) return archived;
    archived.parts.push(written.name);
    archived.entries += written.entries;
    await context.onStep(`audit written ${written.name}`);
    if (!(await carry(written.name))) return archived;
  }
}

async function withDuck<Result>(
  context: ArchiveContext,
  work: (duck: DuckSession) => Promise<Result>,
): Promise<Result> {
  const duck = await DuckSession.open({ scratch: context.shelf.scratch, memoryMb: MEMORY_MB });
  try {
    await duck.run(TABLES);
    return await work(duck);
  } finally {
    await duck.close();
  }
}

const stepsOf = (duck: DuckSession, { entries }: PartFiles): Promise<SqlRow[]> =>
  duck.rows(AUDIT_STEPS, { entries, step: STEP_ENTRIES });

/** Parts that end beyond what Redis says has left, oldest first. A part is small: an operator wrote each entry. */
function owedParts(context: ArchiveContext): Promise<string[]> {
  const { shelf, redis } = context;
  return withDuck(context, async (duck) => {
    const hash = await withRetry(redis, () => redis.hgetall(redisKeys.auditArchivedThrough));
    const carried = 'through' in hash ? idOf(auditArchivedThrough.parse(hash).through) : null;
    const owed: string[] = [];
    for (const name of (await shelf.parts('audit')).reverse()) {
      const [last] = (await stepsOf(duck, shelf.part('audit', name))).slice(-1);
      if (carried && !isAfter(idOf(String(last?.through)), carried)) break;
      owed.unshift(name);
    }
    return owed;
  });
}

/** Writes the next part. @returns null when nothing is old enough. */
function writePart(
  context: ArchiveContext,
  before_ms: number,
): Promise<{ name: string; entries: number } | null> {
  const { shelf, now, log } = context;
  return withDuck(context, async (duck) => {
    const table = await RowTable.open(duck, 'audit_entries', AUDIT_COLUMNS);
    for await (const entry of oldEntries(context, before_ms)) table.add(auditRow(entry));
    table.close();
    if (table.added === 0) return null;
    const { name, files } = await shelf.begin('audit', now());
    await duck.run(WRITE_AUDIT, { file: files.entries });
    const [found] = await duck.rows(VERIFY_AUDIT, { entries: files.entries });
    if (Number(found?.entries) !== table.added || Number(found?.ids) !== table.added) {
      throw new Error(`${files.directory} does not read back as what was written`);
    }
    await shelf.publish('audit', name);
    log.info({ part: name, entries: table.added }, 'a part of the audit log is written');
    return { name, entries: table.added };
  });
}

/** The prefix of the log that is older than the moment, as many as one part takes. */
async function* oldEntries(context: ArchiveContext, before_ms: number): AsyncGenerator<StreamEntry> {
  const { redis, signal, partEntries } = context;
  let from = '-';
  for (let given = 0; given < partEntries; ) {
    signal?.throwIfAborted();
    const count = Math.min(PIECE, partEntries - given);
    const piece = await withRetry(redis, () => redis.xrange(redisKeys.audit, from, '+', 'COUNT', count));
    for (const entry of piece) {
      // One without a time of its own cannot be told to be old.
      if (!(timeOf(entry) < before_ms)) return;
      yield entry;
    }
    const last = piece.at(-1);
    if (!last || piece.length < count) return;
    given += piece.length;
    from = `(${last[0]}`;
  }
}

/** Carries what has not been carried of a part. @returns why it was refused; null when all has been carried. */
function carryAudit(context: ArchiveContext, part: PartFiles): Promise<string | null> {
  const { redis, signal, onStep } = context;
  return withDuck(context, async (duck) => {
    for (const { first, through, entries, subjects } of await stepsOf(duck, part)) {
      signal?.throwIfAborted();
      const streams = (subjects as string[]).map((subject) => redisKeys.auditOf(subject));
      const keys = [redisKeys.audit, redisKeys.auditArchivedThrough, ...streams];
      const values = [first, through, entries].map(String);
      const [outcome, why] = (await runScript(redis, CARRY, keys, values)) as [string, string?];
      if (outcome === 'refused') return why ?? '';
      if (outcome === 'carried') await onStep(`audit carried ${String(through)}`);
    }
    return null;
  });
}
