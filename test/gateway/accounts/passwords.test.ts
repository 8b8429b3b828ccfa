/** Hashing is slow on purpose: that must not become a way to bring the service down. */
import { expect, test } from 'vitest';
import { AccountError } from '../../../gateway/accounts/records.ts';
import { hashPassword, verifyPassword } from '../../../gateway/accounts/sign-in/passwords.ts';
import { toPageError } from '../../../gateway/pages/shared/protected-area.ts';

test('a password is recognised by its hash, and no other', async () => {
  const stored = await hashPassword('correct horse');
  expect(stored).toMatch(/^scrypt\$32768\$8\$1\$/);
  expect(await verifyPassword('correct horse', stored)).toBe(true);
  expect(await verifyPassword('correct horsf', stored)).toBe(false);
  expect(await verifyPassword('correct horse', null)).toBe(false);
});

test('a flood waits for itself up to a bound; who comes later is told to come again, and the rest are served', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 130 }, () => verifyPassword('x', null)));
  const refused = tries.filter((one) => one.status === 'rejected');
  expect(refused).toHaveLength(28);
  expect(refused.every(({ reason }) => reason instanceof AccountError)).toBe(true);
  for (const { reason } of refused) expect(toPageError(reason)).toMatchObject({ status: 503 });
  expect(await verifyPassword('x', null)).toBe(false);
});
