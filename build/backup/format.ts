/**
 * The format of a backup: a directory of files, and a manifest with size and SHA-256 of each, written last.
 *
 *   manifest.json            format, time, files; a directory without one is no backup
 *   redis.ndjson             one key a line: `[name, time to live in ms or -1, value]`, name and value (DUMP) in base64
 *   archive/ lake/ snapshots/ curated/ signing/    copies of the directories
 *
 * The manifest carries a digest of itself, which detects a changed or shortened one.
 */
import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hashFile } from '../../data/runtime/durable-files.ts';
import { inParallel } from '../../data/runtime/in-parallel.ts';
import { CommandError } from '../runtime/errors.ts';

export const BACKUP_FORMAT = 2;
export const BACKUP_MANIFEST = 'manifest.json';
export const REDIS_FILE = 'redis.ndjson';

const SHA256 = /^[0-9a-f]{64}$/;
const staysInside = (path: string): boolean =>
  !path.startsWith('/') && path.split('/').every((word) => !['', '.', '..'].includes(word));

const manifestSchema = z.object({
  format: z.literal(BACKUP_FORMAT),
  /** ISO 8601: when the backup began. */
  begun_at: z.string(),
  /** Number of Redis keys. */
  keys: z.int().min(0),
  files: z.record(
    z.string().refine(staysInside, 'leads out of the backup'),
    z.object({ bytes: z.int().min(0), sha256: z.string().regex(SHA256) }),
  ),
});
export type BackupManifest = z.infer<typeof manifestSchema>;

const computeDigest = (manifest: unknown): string => hash('sha256', JSON.stringify(manifest));

export const manifestText = (manifest: BackupManifest): string =>
  `${JSON.stringify({ sha256: computeDigest(manifest), manifest })}\n`;

/** @throws {CommandError} when the manifest is missing, damaged or of another format. */
async function readManifest(directory: string): Promise<BackupManifest> {
  const file = join(directory, BACKUP_MANIFEST);
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CommandError(`${directory} is no whole backup: it has no ${BACKUP_MANIFEST}`);
  });
  const damaged = (): never => {
    throw new CommandError(`${file} is damaged`);
  };
  let sealed: { sha256?: unknown; manifest?: { format?: unknown } };
  try {
    sealed = JSON.parse(text) as typeof sealed;
  } catch {
    return damaged();
  }
  if (!sealed?.manifest || sealed.sha256 !== computeDigest(sealed.manifest)) return damaged();
  if (sealed.manifest.format !== BACKUP_FORMAT) {
    throw new CommandError(
      `${file} has format ${sealed.manifest.format}; this program reads ${BACKUP_FORMAT}`,
    );
  }
  const parsed = manifestSchema.safeParse(sealed.manifest);
  return parsed.success && parsed.data.files[REDIS_FILE] ? parsed.data : damaged();
}

const FILES_AT_ONCE = 4;

/**
 * Reads the manifest and compares every file with it.
 * @throws {CommandError} naming the first file that is missing or differs.
 */
export async function verifyBackup(directory: string): Promise<BackupManifest> {
  const manifest = await readManifest(directory);
  await inParallel(Object.entries(manifest.files), FILES_AT_ONCE, async ([name, { bytes, sha256 }]) => {
    const path = join(directory, name);
    const found = await stat(path).catch(() => null);
    if (!found) throw new CommandError(`the backup is incomplete: ${path} is missing`);
    const isSame = found.size === bytes && (await hashFile(path)).sha256 === sha256;
    if (!isSame) throw new CommandError(`the backup is damaged: ${path} is not what was written`);
  });
  return manifest;
}
