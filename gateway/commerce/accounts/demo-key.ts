/**
 * The demo account of `npm start`, with a key that stays the same across starts.
 *
 * Redis stores only digests of keys, so the key is also written to a file that only its owner can read. If the file is
 * missing or its key no longer works, a new key is created.
 */
import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseKey } from '../../api/metering/metering.ts';
import { AccountError, type AccountRecord, MAX_ACTIVE_KEYS } from '../store/store.ts';
import type { AccountStore } from './account-store.ts';

const EMAIL = 'demo@almanac.example';
const LABEL = 'demo';
const CREDITS = 10_000;
const TOP_UP_BELOW = 1_000;
const BY = 'npm start';

/**
 * Returns a working key with credits. Idempotent.
 * @param directory where the key file lies (VAR_DIR)
 * @throws {AccountError} if Redis does not answer, or an operator suspended or closed the demo account.
 */
export async function ensureDemoKey(store: AccountStore, directory: string): Promise<string> {
  const { account_id, credits } = await findOrCreateAccount(store);
  if (credits.balance < TOP_UP_BELOW) {
    await store.grant(account_id, {
      credits: CREDITS - credits.balance,
      by: BY,
      reason: 'demo account topped up',
    });
  }
  const file = join(directory, 'demo-key');
  const keys = (await store.keys.list(account_id)).filter((key) => key.state === 'active');
  const stored = (await readFile(file, 'utf8').catch(() => '')).trim();
  const stored_id = parseKey(stored)?.key_id;
  if (keys.some((key) => key.key_id === stored_id)) return stored;
  // Other installations may share this Redis and have their own demo keys, so one is revoked only at the limit.
  const [oldest] = keys.filter((key) => key.label === LABEL);
  if (oldest && keys.length >= MAX_ACTIVE_KEYS) await store.keys.revoke(oldest.key_id);
  const { key } = await store.keys.mint(account_id, { label: LABEL });
  await writeSecret(file, key);
  return key;
}

async function findOrCreateAccount(store: AccountStore): Promise<AccountRecord> {
  try {
    return await store.findByEmail(EMAIL);
  } catch (error) {
    if (!(error instanceof AccountError && error.code === 'account_unknown')) throw error;
    return store.create({ email: EMAIL, name: 'Demo', verified: true, credits: CREDITS, by: BY });
  }
}

/** Writes atomically, readable by the owner only. */
async function writeSecret(file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, `${text}\n`, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}
