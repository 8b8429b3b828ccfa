/** Reads all settings from the environment, once. No other product file reads `process.env`. */
import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { parseKey } from '../proofs/verify-receipt.ts';
import { settingsSchema, splitList } from './settings-schema.ts';

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

type GivenSettings = z.infer<typeof settingsSchema>;
export type Settings = ReturnType<typeof readSettings>;

/** Invalid settings. The message names each and what was expected. */
export class SettingsError extends Error {
  override name = 'SettingsError';
}

/** A process takes some 700 MB under overload; measured with 4,000 connections. */
const MEMORY_PER_WORKER_BYTES = 768 * 1024 * 1024;

export const isProduction = ({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>): boolean => NODE_ENV === 'production';

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
}: GivenSettings): string | null {
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
function combinedFault(settings: GivenSettings): string | null {
  for (const [one, other] of TOGETHER)
    if ((settings[one] === undefined) !== (settings[other] === undefined))
      return `${other}: ${one} and ${other} are set together or not at all`;
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
] as const satisfies (keyof GivenSettings)[][];

/**
 * Reads and freezes the settings. Paths become absolute. An empty variable counts as absent.
 * @throws {SettingsError} naming every bad setting and what was expected.
 */
export function readSettings(environment: Record<string, string | undefined> = process.env) {
  const texts = Object.fromEntries(
    Object.keys(settingsSchema.shape).map((name) => [name, environment[name] || undefined]),
  );
  const parsed = settingsSchema.safeParse(texts);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`);
    throw new SettingsError(`bad settings\n  ${lines.join('\n  ')}`);
  }
  const fault = combinedFault(parsed.data) ?? originFault(parsed.data);
  if (fault !== null) throw new SettingsError(`bad settings\n  ${fault}`);
  const { data: given } = parsed;
  const varDir = resolve(given.VAR_DIR);
  const { PROVIDER_MIRROR: mirror, SNAPSHOT_ORIGIN: origin } = given;
  const settings = {
    ...given,
    ...(mirror && !/^https?:\/\//.test(mirror) && { PROVIDER_MIRROR: resolve(mirror) }),
    WORKERS: given.WORKERS ?? defaultWorkers(),
    VAR_DIR: varDir,
    ...(origin && { SNAPSHOT_ORIGIN: origin.replace(/\/+$/, '') }),
    SNAPSHOT_DIR: resolve(given.SNAPSHOT_DIR ?? `${varDir}/snapshots`),
    ARCHIVE_DIR: resolve(given.ARCHIVE_DIR ?? `${varDir}/archive`),
    CURATED_DIR: resolve(given.CURATED_DIR),
    LAKE_DIR: `${varDir}/lake`,
    SIGNING_DIR: `${varDir}/signing`,
    EXPORT_DIR: `${varDir}/exports`,
    REDIS_DIR: `${varDir}/redis`,
  };
  return Object.freeze(settings);
}
