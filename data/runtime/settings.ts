/** Reads all settings from the environment, once. No other product file reads `process.env`. */
import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { parseKey } from '../proofs/verify-receipt.ts';
import { settingsSchema, splitList } from './settings-schema.ts';

const emptyIsAbsent = (value: unknown): unknown => (value === '' ? undefined : value);

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export type SettingName = keyof z.infer<typeof settingsSchema>;
export type Settings = Readonly<
  Omit<z.infer<typeof settingsSchema>, 'SNAPSHOT_DIR' | 'ARCHIVE_DIR' | 'WORKERS'> & {
    WORKERS: number;
    SNAPSHOT_DIR: string;
    ARCHIVE_DIR: string;
    LAKE_DIR: string;
    SIGNING_DIR: string;
    EXPORT_DIR: string;
    REDIS_DIR: string;
  }
>;

/** Invalid settings. The message names each and what was expected. */
export class SettingsError extends Error {
  override name = 'SettingsError';
}

/** A process takes some 700 MB under overload; measured with 4,000 connections. */
const MEMORY_PER_WORKER_BYTES = 768 * 1024 * 1024;

const PRODUCTION = 'production';

export const isProduction = ({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>): boolean => NODE_ENV === PRODUCTION;

/** Whether a demo account, its key and a first operator are created and shown at start. */
export const isDemo = (settings: Pick<Settings, 'DEMO_KEY' | 'REDIS_URL' | 'NODE_ENV'>): boolean =>
  !isProduction(settings) && (settings.DEMO_KEY ?? settings.REDIS_URL === undefined);

/** One worker a core, limited by the memory of machine or container. */
function defaultWorkers(): number {
  const allowed_bytes = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  const fitting = Math.floor(Math.min(allowed_bytes, totalmem()) / MEMORY_PER_WORKER_BYTES);
  return Math.max(1, Math.min(availableParallelism(), fitting));
}

/** What is wrong with the settings of the origin; null when nothing is. */
function originFault({
  SNAPSHOT_ORIGIN: origin,
  SNAPSHOT_ORIGIN_KEY: keys,
  SNAPSHOT_ORIGIN_TOKEN: token,
}: z.infer<typeof settingsSchema>): string | null {
  if (origin === undefined) return null;
  if (splitList(keys ?? '').length === 0)
    return 'SNAPSHOT_ORIGIN_KEY: needed with SNAPSHOT_ORIGIN: what is followed must be signed';
  for (const key of splitList(keys ?? '')) {
    try {
      parseKey(key);
    } catch (error) {
      return `SNAPSHOT_ORIGIN_KEY: ${error instanceof Error ? error.message : error}`;
    }
  }
  const { protocol, hostname } = new URL(origin);
  const isSafe = protocol === 'https:' || LOOPBACK.test(hostname);
  return token === undefined || isSafe ? null : 'SNAPSHOT_ORIGIN_TOKEN: only sent to an https:// address';
}

/** What is wrong with settings that depend on each other; null when nothing is. */
function combinedFault(settings: z.infer<typeof settingsSchema>): string | null {
  const areTogether = (one: SettingName, other: SettingName): boolean =>
    (settings[one] === undefined) === (settings[other] === undefined);
  for (const [one, other] of TOGETHER)
    if (!areTogether(one, other)) return `${other}: ${one} and ${other} are set together or not at all`;
  if (settings.DEMO_KEY && isProduction(settings))
    return 'DEMO_KEY: there is no demo account with NODE_ENV=production';
  const { REDIS_URL, REDIS_CLUSTER, REDIS_WAIT_REPLICAS } = settings;
  if (REDIS_URL === undefined && (REDIS_CLUSTER || REDIS_WAIT_REPLICAS > 0))
    return 'REDIS_URL: needed with REDIS_CLUSTER and REDIS_WAIT_REPLICAS: the private Redis is one server';
  const { INVOICE_VAT_RATE, INVOICE_COUNTRY, INVOICE_VAT_ID } = settings;
  return INVOICE_VAT_RATE > 0 && (INVOICE_COUNTRY === undefined || INVOICE_VAT_ID === '')
    ? 'INVOICE_VAT_RATE: needs INVOICE_COUNTRY and INVOICE_VAT_ID'
    : null;
}

const TOGETHER = [
  ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'],
  ['OPERATOR_WEBHOOK_URL', 'OPERATOR_WEBHOOK_SECRET'],
] as const satisfies [SettingName, SettingName][];

/**
 * Reads and freezes the settings. Paths become absolute. An empty variable counts as absent.
 * @throws {SettingsError} naming every bad setting and what was expected.
 */
export function readSettings(environment: Record<string, string | undefined> = process.env): Settings {
  const given = Object.fromEntries(
    Object.keys(settingsSchema.shape).map((name) => [name, emptyIsAbsent(environment[name])]),
  );
  const parsed = settingsSchema.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`);
    throw new SettingsError(`bad settings\n  ${lines.join('\n  ')}`);
  }
  const fault = combinedFault(parsed.data) ?? originFault(parsed.data);
  if (fault !== null) throw new SettingsError(`bad settings\n  ${fault}`);
  const varDir = resolve(parsed.data.VAR_DIR);
  const { PROVIDER_MIRROR: mirror } = parsed.data;
  return Object.freeze({
    ...parsed.data,
    ...(mirror && !/^https?:\/\//.test(mirror) ? { PROVIDER_MIRROR: resolve(mirror) } : {}),
    WORKERS: parsed.data.WORKERS ?? defaultWorkers(),
    VAR_DIR: varDir,
    ...(parsed.data.SNAPSHOT_ORIGIN && { SNAPSHOT_ORIGIN: parsed.data.SNAPSHOT_ORIGIN.replace(/\/+$/, '') }),
    SNAPSHOT_DIR: resolve(parsed.data.SNAPSHOT_DIR ?? `${varDir}/snapshots`),
    ARCHIVE_DIR: resolve(parsed.data.ARCHIVE_DIR ?? `${varDir}/archive`),
    CURATED_DIR: resolve(parsed.data.CURATED_DIR),
    LAKE_DIR: `${varDir}/lake`,
    SIGNING_DIR: `${varDir}/signing`,
    EXPORT_DIR: `${varDir}/exports`,
    REDIS_DIR: `${varDir}/redis`,
  });
}
