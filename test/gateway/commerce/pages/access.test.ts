/** The table of routes and permissions, against the routes that exist and in every role. */
import { expect, it } from 'vitest';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { ROLES, type Role } from '../../../../gateway/commerce/accounts/member-store.ts';
import { ACCESS } from '../../../../gateway/commerce/pages/access.ts';
import { hiddenTokens } from '../../../admin/harness.ts';
import { useAccountPages } from './harness.ts';

/** Written apart from the product. */
const ALLOWED: Record<Role, readonly string[]> = {
  owner: ['self', 'read', 'keys', 'webhooks', 'billing', 'manage'],
  billing: ['self', 'read', 'billing'],
  developer: ['self', 'read', 'keys', 'webhooks'],
  viewer: ['self', 'read'],
};
/** Answer without a session. */
const ANONYMOUS =
  /^\/account\/(?:connect$|sign-in|sign-up|confirm|forgot|reset|closed$|summary$|stripe|invitation|email|undo-email)/;

const harness = await useAccountPages();
const ann = await harness.customer();

const listed = () =>
  harness.routes.flatMap(({ method, url }) =>
    method
      .split(',')
      .filter((verb) => verb === 'GET' || verb === 'POST')
      .map((verb) => `${verb} ${url.replace(/\/$/, '')}`)
      .filter(() => url.startsWith('/account') && !url.endsWith('*') && !ANONYMOUS.test(url)),
  );

it('every route that needs a session is in the table, and nothing else', () => {
  expect(Object.keys(ACCESS).sort()).toEqual([...new Set(listed())].sort());
});

it.each(ROLES)('%s: each route answers by the role', async (role) => {
  const { visitor } = ann;
  // One of the routes ends the membership.
  const join = () => harness.redis.hset(redisKeys.members(ann.account_id), `${ann.person_id}:role`, role);
  await join();
  const tokens = hiddenTokens(await visitor.get('/account/second-factor'));
  for (const [route, access] of Object.entries(ACCESS)) {
    // These would end the session.
    if (/sign-out|end-others/.test(route)) continue;
    await join();
    const [verb, url = ''] = route.split(' ');
    const path = url.replaceAll(/:[a-z_]+/g, 'none');
    const page =
      verb === 'GET' ? await visitor.get(path) : await visitor.post(path, { _csrf: tokens._csrf ?? '' });
    const isAllowed = ALLOWED[role].includes(access);
    expect([role, route, page.status !== 403]).toEqual([role, route, isAllowed]);
  }
});
