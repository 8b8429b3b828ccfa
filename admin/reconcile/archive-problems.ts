/** What is wrong with the archive as a whole, in sentences: what no account can be named for. */
import type { RedisClient } from '../../data/runtime/redis.ts';
import { carriedAudit } from '../../data/schema/archive.ts';
import { dateOfDay, redisKeys } from '../../data/schema/redis-keys.ts';
import { type ArchiveEngine, readSql } from '../../gateway/archive/engine.ts';
import { listParts } from '../../gateway/archive/parts.ts';
import { wholeOf } from '../../gateway/archive/rows.ts';
import { parseStreamId } from '../../gateway/archive/stream-id.ts';
import type { Summarised } from './summaries.ts';

const DEBITED_DAYS = readSql(import.meta.url, 'sql/debited-days.sql');
const AUDIT_COUNT = readSql(import.meta.url, 'sql/audit-count.sql');

/** Days that have debits in the archive and whose usage is neither there nor live any more. */
export async function missingUsage(
  engine: ArchiveEngine,
  { ledger, usage }: Summarised,
  firstLiveDay: number,
): Promise<string[]> {
  if (ledger.length === 0) return [];
  const archived = new Set(usage.map(({ source }) => source.day));
  const rows = await engine.rows(DEBITED_DAYS, { files: ledger.map(({ file }) => file) });
  const missing = rows
    .map((row) => wholeOf(row, 'day'))
    .filter((day) => day < firstLiveDay && !archived.has(day))
    .sort((a, b) => a - b);
  return missing.map(
    (day) => `usage/${dateOfDay(day)} is missing: its debits cannot be held against anything`,
  );
}

/** The audit log's parts against what Redis says has left the live log. */
export async function auditProblems(
  engine: ArchiveEngine,
  redis: RedisClient,
  archive_dir: string,
): Promise<string[]> {
  const hash = await redis.hgetall(redisKeys.auditCarried);
  const carried = 'through' in hash ? carriedAudit.parse(hash) : null;
  const parts = await listParts(archive_dir, 'audit');
  if (!carried) return [];
  if (parts.length === 0) return [`audit: ${carried.entries} entries were archived, and cannot be read here`];
  const { ms, seq } = parseStreamId(carried.through);
  const problems: string[] = [];
  let entries = 0;
  for (const part of parts) {
    try {
      const [row] = await engine.rows(AUDIT_COUNT, { file: part.entries, ms: BigInt(ms), seq: BigInt(seq) });
      entries += Number(row?.entries);
    } catch {
      problems.push(`audit/${part.name} cannot be read`);
    }
  }
  if (problems.length === 0 && entries !== carried.entries)
    problems.push(
      `audit: the archive holds ${entries} entries of the audit log; ${carried.entries} were carried over`,
    );
  return problems;
}
