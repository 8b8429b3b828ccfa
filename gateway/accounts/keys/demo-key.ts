/**
 * The demo account of `npm start`: a key that works as pasted, the same one at every start.
 *
 * The text of a key is known only when it is made, so it is kept in a file that only its owner can read. When the file
 * is missing, or the key in it no longer works, a new one is made.
 */
import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseKey } from '../../metering/keys.ts';
import type { AccountStore } from '../account-store.ts';
import { AccountError, type AccountRecord, MAX_ACTIVE_KEYS } from '../records.ts';

const EMAIL = 'demo@almanac.example';
const LABEL = 'demo';
const CREDITS = 10_000;
const TOP_UP_BELOW = 1_000;
const BY = 'npm start';

/**
 * The text of a key with credits. Idempotent; takes the account store and the directory to keep the key in (VAR_DIR).
 * @throws {AccountError} when Redis does not answer, or an operator suspended or closed the demo account.
 */
export async function ensureDemoKey(store: AccountStore, varDir: string): Promise<string> {
  const { account_id, credits } = await demoAccount(store);
  if (credits.balance < TOP_UP_BELOW) {
    await store.grant(account_id, {
      credits: CREDITS - credits.balance,
      by: BY,
      reason: 'demo account topped up',
    });
  }
  const file = join(varDir, 'demo-key');
  const keys = (await store.keys.list(account_id)).filter((key) => key.state === 'active');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  const kept_id = parseKey(kept)?.key_id;
  if (keys.some((key) => key.key_id === kept_id)) return kept;
  // Other places that share this Redis have demo keys of their own; only a full account gives one up.
  const [oldest] = keys.filter((key) => key.label === LABEL);
  if (oldest && keys.length >= MAX_ACTIVE_KEYS) await store.keys.revoke(oldest.key_id);
  const { key } = await store.keys.mint(account_id, { label: LABEL });
  await writeSecret(file, key);
  return key;
}

async function demoAccount(store: AccountStore): Promise<AccountRecord> {
  try {
    return await store.findByEmail(EMAIL);
  } catch (error) {
    if (!(error instanceof AccountError && error.code === 'account_unknown')) throw error;
    return store.create({ email: EMAIL, name: 'Demo', verified: true, credits: CREDITS, by: BY });
  }
}

/** Whole or not at all, and never readable by others. */
async function writeSecret(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, `${text}\n`, { mode: 0o600, flag: 'wx' });
  await rename(draft, file);
}
