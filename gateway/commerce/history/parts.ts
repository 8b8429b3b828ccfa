/** Lists the files of an archive directory. Parts appear whole, by one rename, and never change. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { whenAbsent } from '../../../data/runtime/durable-files.ts';
import { ARCHIVED_ACCOUNTS, ARCHIVED_ENTRIES } from '../../../data/schema/archive.ts';

export interface Part {
  /** Sorts by time. */
  name: string;
  entries: string;
  /** Exists only in parts of the ledger. */
  accounts: string;
}

const DATE_FILE = /^(\d{4}-\d\d-\d\d)\.parquet$/;

/** Names of finished files, oldest first. A missing directory is empty. */
async function namesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(whenAbsent([]));
  return names.filter((name) => !name.startsWith('.')).sort();
}

/** Parts of the ledger or of the audit log, oldest first. */
export async function listParts(archive_dir: string, kind: 'ledger' | 'audit'): Promise<Part[]> {
  const directory = join(archive_dir, kind);
  return (await namesIn(directory)).map((name) => ({
    name,
    entries: join(directory, name, ARCHIVED_ENTRIES),
    accounts: join(directory, name, ARCHIVED_ACCOUNTS),
  }));
}

/** Archived days of usage, such as `2026-11-21`, oldest first. */
export async function listUsage(archive_dir: string) {
  const directory = join(archive_dir, 'usage');
  return (await namesIn(directory)).flatMap((name) => {
    const date = DATE_FILE.exec(name)?.[1];
    return date === undefined ? [] : [{ date, file: join(directory, name) }];
  });
}
