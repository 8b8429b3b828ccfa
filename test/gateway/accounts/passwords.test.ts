/** Hashing is slow on purpose: that must not become a way to bring the service down. */
import { expect, test } from 'vitest';
import { hashPassword, isPassword } from '../../../gateway/accounts/sign-in/passwords.ts';
import { PageProblem } from '../../../gateway/pages/shared/page-problem.ts';

test('a password is recognised by its hash, and no other', async () => {
  const stored = await hashPassword('correct horse');
  expect(stored).toMatch(/^scrypt\$32768\$8\$1\$/);
  expect(await isPassword('correct horse', stored)).toBe(true);
  expect(await isPassword('correct horsf', stored)).toBe(false);
  expect(await isPassword('correct horse', null)).toBe(false);
});

test('a flood waits for itself up to a bound; who comes later is told to come again, and the rest are served', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 130 }, () => isPassword('x', null)));
  const refused = tries.filter((one) => one.status === 'rejected');
  expect(refused).toHaveLength(28);
  for (const { reason } of refused) expect(reason).toMatchObject({ status: 503 });
  expect(refused.every(({ reason }) => reason instanceof PageProblem)).toBe(true);
  expect(await isPassword('x', null)).toBe(false);
});
