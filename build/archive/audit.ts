/**
 * Moves audit entries older than a given moment from Redis to Parquet parts: first from the log, and with each entry its
 * copy in the stream of its subject. Parts that an earlier run wrote but did not trim are trimmed first.
 */
import { sqlOf } from '../../data/runtime/sql-files.ts';
import { AUDIT_COLUMNS, auditArchivedThrough } from '../../data/schema/archive.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import type { SqlRow } from '../runtime/duckdb.ts';
import { withRetry } from '../runtime/redis-connection.ts';
import type { ArchiveContext, EntriesArchived } from './archive-storage.ts';
import { auditRow, isAfter, parseEntryId, readTime, type StreamEntry, writeTable } from './entry-rows.ts';
import { readStream, trimStream } from './redis-access.ts';

const sql = sqlOf(import.meta.url);

const ENTRIES_PER_TRIM = 100;

/** @param before_ms entries of this moment and later stay. */
export async function archiveAudit(context: ArchiveContext, before_ms: number): Promise<EntriesArchived> {
  const archived: EntriesArchived = { parts: [], entries: 0, resumed: [], left: [] };
  const trim = async (name: string): Promise<boolean> => {
    const why = await trimPart(context, name);
    if (why !== null) archived.left.push({ what: 'audit', why });
    return why === null;
  };
  for (const name of await untrimmedParts(context)) {
    archived.resumed.push(name);
    if (!(await trim(name))) return archived;
  }
  for (;;) {
    const written = await writePart(context, before_ms);
    if (!written) return archived;
    archived.parts.push(written.name);
    archived.entries += written.entries;
    await context.onStep(`audit written ${written.name}`);
    if (!(await trim(written.name))) return archived;
  }
}

const trimSteps = ({ duck, storage }: ArchiveContext, name: string): Promise<SqlRow[]> =>
  duck.rows(sql('audit-steps'), { entries: storage.part('audit', name).entries, step: ENTRIES_PER_TRIM });

/** Parts with entries that Redis still holds, oldest first. Parts are small: operators cause the entries. */
async function untrimmedParts(context: ArchiveContext): Promise<string[]> {
  const { storage, redis } = context;
  const hash = await withRetry(redis, () => redis.hgetall(redisKeys.auditArchivedThrough));
  const trimmed = 'through' in hash ? parseEntryId(auditArchivedThrough.parse(hash).through) : null;
  const untrimmed: string[] = [];
  for (const name of (await storage.parts('audit')).reverse()) {
    const last = (await trimSteps(context, name)).at(-1);
    if (trimmed && !isAfter(parseEntryId(String(last?.through)), trimmed)) break;
    untrimmed.unshift(name);
  }
  return untrimmed;
}

/** Writes the next part. @returns null when nothing is old enough. */
async function writePart(
  context: ArchiveContext,
  before_ms: number,
): Promise<{ name: string; entries: number } | null> {
  const { storage, duck, now, log } = context;
  const table = await duck.createTable('audit_entries', AUDIT_COLUMNS);
  for await (const entry of oldEntries(context, before_ms)) table.add(auditRow(entry));
  table.close();
  if (table.added === 0) return null;
  const { name, files } = await storage.begin('audit', now());
  await writeTable(duck, table, files.entries);
  const [found] = await duck.rows(sql('verify-audit'), { entries: files.entries });
  if (Number(found?.entries) !== table.added || Number(found?.ids) !== table.added) {
    throw new Error(`${files.directory} does not read back as what was written`);
  }
  await storage.publish('audit', name);
  log.info({ part: name, entries: table.added }, 'a part of the audit log is written');
  return { name, entries: table.added };
}

/** The prefix of the log that is older than the moment, as many entries as one part takes. */
async function* oldEntries(context: ArchiveContext, before_ms: number): AsyncGenerator<StreamEntry> {
  const { redis, signal, partEntries } = context;
  let given = 0;
  for await (const entry of readStream(redis, redisKeys.audit)) {
    signal.throwIfAborted();
    // An entry without a readable time has NaN and ends the prefix, too.
    if (given === partEntries || !(readTime(entry) < before_ms)) return;
    given += 1;
    yield entry;
  }
}

/** Trims the entries of a part from Redis. Idempotent. @returns why a step was refused; null when all were trimmed. */
async function trimPart(context: ArchiveContext, name: string): Promise<string | null> {
  const { redis, signal, onStep } = context;
  for (const { first, through, entries, subjects } of await trimSteps(context, name)) {
    signal.throwIfAborted();
    const streams = (subjects as string[]).map((subject) => redisKeys.auditOf(subject));
    const keys = [redisKeys.audit, redisKeys.auditArchivedThrough, ...streams];
    const { outcome, why } = await trimStream(redis, keys, [first, through, entries].map(String));
    if (outcome === 'refused') return why;
    if (outcome === 'trimmed') await onStep(`audit trimmed ${String(through)}`);
  }
  return null;
}
