/** Password hashing is expensive, so its concurrency and its queue are bounded. */
import { expect, test } from 'vitest';
import { AccountError } from '../../../gateway/accounts/records.ts';
import { hashPassword, verifyPassword } from '../../../gateway/accounts/sign-in/passwords.ts';
import { toPageError } from '../../../gateway/pages/shared/protected-area.ts';

/** With parameters that cost nothing: only the queue matters. */
const CHEAP_HASH = `scrypt$16$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

test('a hash verifies its password and no other', async () => {
  const stored = await hashPassword('correct horse');
  expect(stored).toMatch(/^scrypt\$32768\$8\$1\$/);
  expect(await verifyPassword('correct horse', stored)).toBe(true);
  expect(await verifyPassword('correct horsf', stored)).toBe(false);
  expect(await verifyPassword('correct horse', null)).toBe(false);
});

test('a flood of sign-ins fills a bounded queue; further ones fail with 503 and the queue drains', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 130 }, () => verifyPassword('x', CHEAP_HASH)));
  const refused = tries.filter((one) => one.status === 'rejected');
  expect(refused).toHaveLength(28);
  expect(refused.every(({ reason }) => reason instanceof AccountError)).toBe(true);
  for (const { reason } of refused) expect(toPageError(reason)).toMatchObject({ status: 503 });
  expect(await verifyPassword('x', null)).toBe(false);
});
