/** Sign-in, sessions, CSRF protection and throttling of the operator area. */
import { beforeAll, describe, expect, it } from 'vitest';
import { safeRedirectPath } from '../../gateway/commerce/people/protected-area.ts';
import { SESSION_LIFETIME, SessionStore } from '../../gateway/commerce/people/sessions.ts';
import { flushRedis } from '../redis.ts';
import { PASSWORD, type Page, tokenOf, useAdmin } from './harness.ts';

const COOKIE = 'almanac_admin';
const ADDRESS = 'operator@example.org';
/** Of whoever signs in, viewers too. */
const OWN_FORMS = /sign-(in|out)|password|second-factor/;
/** Answers by a link of its own. */
const INVITED = '/admin/password/:token';

/** The page without the parts that depend on visitor and path. */
const anonymous = ({ html }: Page): string =>
  html.replaceAll(/name="(_csrf|_idempotency|next)" value="[^"]*"/g, '');
const filled = (url: string): string => url.replaceAll(/:[a-z]+/gi, 'x').replace('/*', '/nothing/here');

const service = await useAdmin({ TRUST_PROXY: '127.0.0.1' });

describe('access without a session', () => {
  const adminRoutes = () => service.routes.filter(({ url }) => url.startsWith('/admin'));

  it('every route returns only the sign-in page', async () => {
    const routes = adminRoutes();
    expect(routes.length).toBeGreaterThan(15);
    const sample = anonymous(await service.visitor().get('/admin/'));
    for (const { method, url } of routes) {
      for (const verb of method
        .split(',')
        .filter((word) => ['GET', 'POST', 'PUT', 'DELETE'].includes(word))) {
        if (url === INVITED || (/^\/admin\/sign-in(?:\/code)?$/.test(url) && verb === 'POST')) continue;
        const page = await service.visitor().get(filled(url), verb);
        expect([verb, url, page.status]).toEqual([verb, url, 401]);
        expect(anonymous(page)).toBe(sample);
        expect(page.headers['cache-control']).toBe('no-store');
      }
    }
  });

  it('existing and unknown paths look the same', async () => {
    const [known, unknown] = await Promise.all(
      ['/admin/users', '/admin/wp-login.php'].map((path) => service.visitor().get(path)),
    );
    expect(unknown?.status).toBe(401);
    expect(known && anonymous(known)).toBe(unknown && anonymous(unknown));
  });

  it('known and unknown addresses look the same', async () => {
    await service.signedIn();
    const [known, unknown] = [
      await service.visitor().signIn(ADDRESS, 'wrong password'),
      await service.visitor().signIn('nobody@example.org', 'wrong password'),
    ];
    expect([known.status, unknown.status]).toEqual([401, 401]);
    expect(anonymous(known).replaceAll(ADDRESS, '')).toBe(
      anonymous(unknown).replaceAll('nobody@example.org', ''),
    );
  });

  it.each([
    '//evil.example/',
    'https://evil.example/',
    '/\\evil.example',
    '/admin/../..//evil.example',
    '/admin//evil.example',
    '/admin/\r\nLocation:x',
    '/v1/countries',
    '/administrator',
    'javascript:alert(1)',
    '',
  ])('sign-in never redirects off the operator area: %j', async (next) => {
    await service.operators.put(ADDRESS, 'operator', PASSWORD);
    const answer = await service.visitor().signIn(ADDRESS, PASSWORD, next);
    expect([answer.status, answer.location]).toEqual([303, '/admin/']);
  });

  it('sign-in redirects to the requested page', async () => {
    const visitor = service.visitor();
    const signInPage = await visitor.get('/admin/users?q=a&status=active');
    expect(signInPage.html).toContain('value="/admin/users?q=a&amp;status=active"');
    const answer = await visitor.signIn(ADDRESS, PASSWORD, '/admin/users?q=a&status=active');
    expect(answer.location).toBe('/admin/users?q=a&status=active');
    expect(safeRedirectPath('/admin', '/admin')).toBe('/admin');
  });

  it('forms without the session’s own CSRF token are refused', async () => {
    const operator = await service.signedIn();
    const other = await service.signedIn('viewer');
    const tokens = {
      none: undefined,
      other: tokenOf(await other.get('/admin/')),
      madeUp: 'abcdefgh-ijklmnop',
    };
    for (const [name, token] of Object.entries(tokens)) {
      const answer = await operator.post(
        '/admin/sign-out-everywhere',
        token === undefined ? {} : { _csrf: token },
      );
      expect([name, answer.status]).toEqual([name, 403]);
    }
    expect((await operator.get('/admin/')).status).toBe(200);
  });

  it('sign-in without a CSRF token is refused', async () => {
    const answer = await service.visitor().post('/admin/sign-in', { email: ADDRESS, password: PASSWORD });
    expect(answer.status).toBe(403);
    expect(answer.headers['set-cookie']?.toString() ?? '').not.toContain(`${COOKIE}=`);
  });

  it('every form of a viewer is refused', async () => {
    const viewer = await service.signedIn('viewer');
    const token = tokenOf(await viewer.get('/admin/'));
    const posts = adminRoutes().filter(({ method, url }) => method === 'POST' && !OWN_FORMS.test(url));
    expect(posts.length).toBeGreaterThan(4);
    for (const { url } of posts) {
      const answer = await viewer.post(filled(url), { _csrf: token });
      expect([url, answer.status]).toEqual([url, 403]);
    }
    expect((await viewer.get('/admin/users')).html).not.toContain('action="/admin/users/');
  });

  it('pages forbid framing, sniffing, storing and scripts', async () => {
    const operator = await service.signedIn();
    for (const path of ['/admin/', '/admin/users', '/admin/nothing', '/admin/users?limit=x']) {
      const { headers, html } = await operator.get(path);
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['referrer-policy']).toBe('same-origin');
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|script-src/);
      expect(html).not.toMatch(/<script|style="|\son[a-z]+="/i);
    }
  });

  it('public responses get no headers or cookies of the area', async () => {
    const { headers } = await service.visitor().get('/v1/topics');
    expect(headers['content-security-policy']).toBeUndefined();
    expect(headers['set-cookie']).toBeUndefined();
    expect(headers['cache-control']).toContain('public');
  });
});

describe('sessions', () => {
  beforeAll(() => service.operators.put(ADDRESS, 'operator', PASSWORD));

  it('get a new id at sign-in', async () => {
    const planted = (await service.signedIn()).cookies.get(COOKIE) ?? '';
    const victim = service.visitor();
    victim.cookies.set(COOKIE, 'A'.repeat(43));
    await victim.signIn(ADDRESS, PASSWORD);
    expect(victim.cookies.get(COOKIE)).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(victim.cookies.get(COOKIE)).not.toBe('A'.repeat(43));

    const shared = service.visitor();
    shared.cookies.set(COOKIE, planted);
    const token = tokenOf(await shared.get('/admin/'));
    await shared.post('/admin/sign-in', { _csrf: token, email: ADDRESS, password: PASSWORD, next: '' });
    expect(shared.cookies.get(COOKIE)).not.toBe(planted);
    const thief = service.visitor();
    thief.cookies.set(COOKIE, planted);
    expect((await thief.get('/admin/')).status).toBe(401);
  });

  it('use HttpOnly, SameSite cookies, Secure behind TLS', async () => {
    const cookies = async (headers: Record<string, string>) => {
      const visitor = service.visitor();
      Object.assign(visitor.headers, headers);
      const { headers: answered } = await visitor.signIn(ADDRESS, PASSWORD);
      return [answered['set-cookie'] ?? []].flat().find((line) => line.startsWith(COOKIE)) ?? '';
    };
    expect(await cookies({})).toMatch(/HttpOnly/);
    expect(await cookies({})).toMatch(/SameSite=Lax/);
    expect(await cookies({})).toMatch(/Path=\/admin/);
    expect(await cookies({})).not.toMatch(/Secure/);
    expect(await cookies({ 'x-forwarded-proto': 'https' })).toMatch(/Secure/);
  });

  it('are stored in Redis by a digest only', async () => {
    const id = (await service.signedIn()).cookies.get(COOKIE) ?? '';
    expect(id).toHaveLength(43);
    const keys = await service.client.keys('*');
    expect(keys.filter((key) => key.includes(id))).toEqual([]);
  });

  it('expire when idle and at their maximum age', async () => {
    const idle = await service.signedIn();
    service.clock.ms += SESSION_LIFETIME.idle_ms + 1;
    expect((await idle.get('/admin/')).status).toBe(401);

    const busy = await service.signedIn();
    const began_ms = service.clock.ms;
    while (service.clock.ms - began_ms < SESSION_LIFETIME.max_ms - SESSION_LIFETIME.idle_ms) {
      service.clock.ms += SESSION_LIFETIME.idle_ms - 1;
      expect((await busy.get('/admin/audit')).status).toBe(200);
    }
    service.clock.ms = began_ms + SESSION_LIFETIME.max_ms + 1;
    expect((await busy.get('/admin/')).status).toBe(401);
  });

  it('end at sign-out, in one browser or everywhere', async () => {
    const [one, two] = [await service.signedIn(), await service.signedIn()];
    // `signedIn` resets the operator, which ends earlier sessions.
    expect((await one.get('/admin/')).status).toBe(401);
    await one.signIn(ADDRESS, PASSWORD);
    const kept = one.cookies.get(COOKIE) ?? '';
    expect((await one.submit('/admin/', '/admin/sign-out', {})).status).toBe(303);
    const thief = service.visitor();
    thief.cookies.set(COOKIE, kept);
    expect((await thief.get('/admin/')).status).toBe(401);
    expect((await two.get('/admin/')).status).toBe(200);

    await one.signIn(ADDRESS, PASSWORD);
    await two.submit('/admin/', '/admin/sign-out-everywhere', {});
    expect((await one.get('/admin/')).status).toBe(401);
    expect((await two.get('/admin/')).status).toBe(401);
  });

  it('end when the operator is removed or the role changes', async () => {
    const operator = await service.signedIn();
    await service.operators.put(ADDRESS, 'viewer', PASSWORD);
    expect((await operator.get('/admin/')).status).toBe(401);
    await operator.signIn(ADDRESS, PASSWORD);
    await service.operators.remove(ADDRESS);
    expect((await operator.get('/admin/')).status).toBe(401);
    await service.operators.put(ADDRESS, 'operator', PASSWORD);
  });

  it('of account holders are not valid', async () => {
    const now = () => service.clock.ms;
    const foreign = await new SessionStore(service.client, now, 'account').begin(ADDRESS, '1');
    const visitor = service.visitor();
    visitor.cookies.set(COOKIE, foreign.id);
    expect((await visitor.get('/admin/')).status).toBe(401);
  });
});

describe('password guessing', () => {
  beforeAll(async () => {
    await flushRedis(service.client);
    await service.operators.put(ADDRESS, 'operator', PASSWORD);
  });

  async function guess(address: string, email: string, password = 'wrong password'): Promise<Page> {
    const visitor = service.visitor();
    visitor.headers['x-forwarded-for'] = address;
    return visitor.signIn(email, password);
  }

  it('one account is throttled for every client, even with the right password, and recovers', async () => {
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      expect((await guess(address, ADDRESS)).status).toBe(401);
    const refused = await guess('192.0.2.4', ADDRESS, PASSWORD);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    service.clock.ms += 1_000;
    expect((await guess('192.0.2.5', ADDRESS)).status).toBe(401);
    expect((await guess('192.0.2.6', ADDRESS)).headers['retry-after']).toBe('2');
    service.clock.ms += 2_000;
    expect((await guess('192.0.2.7', ADDRESS, PASSWORD)).status).toBe(303);
    expect((await guess('192.0.2.8', ADDRESS)).status).toBe(401);
  });

  it('one client is throttled whichever accounts it tries', async () => {
    // Most accounts exist, because a guess at an unknown one hashes at full cost.
    for (let count = 0; count < 20; count += 1) {
      const email = `someone-${count}@example.org`;
      if (count >= 4) await service.operators.put(email, 'viewer', PASSWORD);
      expect((await guess('198.51.100.7', email)).status).toBe(401);
    }
    expect((await guess('198.51.100.7', 'one-more@example.org')).status).toBe(429);
    expect((await guess('198.51.100.8', 'one-more@example.org')).status).toBe(401);
  });

  it('concurrent attempts count like sequential ones', async () => {
    const tries = await Promise.all(
      Array.from({ length: 12 }, (_, index) => guess(`203.0.113.${index}`, 'raced@example.org')),
    );
    expect(tries.filter(({ status }) => status === 401)).toHaveLength(3);
    expect(tries.filter(({ status }) => status === 429)).toHaveLength(9);
  });
});
