/** Password hashing is expensive, so its concurrency and its queue are bounded. Which new passwords are accepted. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { PasswordHasher, passwordProblem } from '../../../gateway/commerce/people/passwords.ts';
import { toPageError } from '../../../gateway/commerce/people/protected-area.ts';
import { AccountError } from '../../../gateway/commerce/store/records.ts';

/** With parameters that cost nothing: only the queue matters. */
const CHEAP_HASH = `scrypt$16$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

test('a flood of sign-ins fills a bounded queue; further ones fail with 503 and the queue drains', async () => {
  const passwords = new PasswordHasher();
  const others = new PasswordHasher();
  const flood = Array.from({ length: 130 }, () => passwords.verify('x', CHEAP_HASH));
  // Those who have a queue of their own are served meanwhile.
  const other = others.verify('x', CHEAP_HASH);
  const tries = await Promise.allSettled(flood);
  expect(await other).toBe(false);
  const refused = tries.filter((one) => one.status === 'rejected');
  expect(refused).toHaveLength(29);
  expect(refused.every(({ reason }) => reason instanceof AccountError)).toBe(true);
  for (const { reason } of refused) expect(toPageError(reason)).toMatchObject({ status: 503 });
  expect(await passwords.verify('x', null)).toBe(false);
});

describe('a new password', () => {
  const problemOf = (password: string) => passwordProblem(password, 'Ann.Example@Example.org');

  it.each([
    ['correct horse battery staple'],
    ['k3x-vu9-qqe'],
    ['Straßenbahnhaltestelle'],
    ['数の国の数の本の頁の上'],
    ['annexampleisaplace'],
  ])('%s is accepted', async (password) => {
    expect(await problemOf(password)).toBeNull();
  });

  it.each([
    ['ninechars', 'A password has 10 to 200 characters.'],
    ['x'.repeat(201), 'A password has 10 to 200 characters.'],
    ['1234567890', 'common passwords'],
    ['password123', 'common passwords'],
    ['Password123', 'common passwords'],
    ['Password-2026!', 'common passwords'],
    ['christopher', 'common passwords'],
    ['qwertyuiop', 'common passwords'],
    ['aaaaaaaaaaaa', 'common passwords'],
    ['abababababab', 'common passwords'],
    ['ann.example@example.org', 'e-mail address'],
    ['ANN.EXAMPLE@EXAMPLE.ORG', 'e-mail address'],
    ['ann.example', 'e-mail address'],
    ['Ann.Example1', 'e-mail address'],
    ['  ann.example  ', 'e-mail address'],
  ])('%s is refused', async (password, sentence) => {
    expect(await problemOf(password)).toContain(sentence);
  });

  it('is judged by the address only if it is like it: random ones of ten letters are accepted', async () => {
    const letters = fc.constantFrom(...'bcdfghjklmnpqrstvwxz');
    const random = fc.array(letters, { minLength: 12, maxLength: 20 }).map((all) => all.join(''));
    const isVaried = (word: string) => new Set(word).size >= 5;
    await fc.assert(
      fc.asyncProperty(random.filter(isVaried), async (word) => {
        expect(await problemOf(word)).toBeNull();
        expect(await passwordProblem(word, `${word}@example.org`)).toContain('e-mail address');
      }),
    );
  });
});
