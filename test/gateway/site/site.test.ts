/** What all pages of the site share: headers, caching, errors, rate windows. */
import { describe, expect, test } from 'vitest';
import { SITE_PAGES } from '../../../gateway/site/site.ts';
import { Service } from '../service.ts';
import { testService } from './test-service.ts';

const service = testService();

const HTML = { accept: 'text/html,application/xhtml+xml' };

describe('a page of the site', () => {
  test('runs and loads nothing from elsewhere, and is shown in no frame', async () => {
    const { status, headers } = await service.get('/');
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  test('names its edition and is not sent again while it is the same', async () => {
    const { headers } = await service.get('/');
    expect(headers['x-snapshot']).toBe(service.snapshots.current()?.id);
    const again = await service.get('/', { headers: { 'if-none-match': String(headers.etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('loads only files that browsers may keep for ever', async () => {
    const { text } = await service.get('/');
    const loaded = [...text.matchAll(/(?:src|<link rel="(?:icon|stylesheet)" href)="([^"]+)"/g)].map(
      ([, path]) => path,
    );
    expect(loaded.length).toBeGreaterThan(2);
    for (const path of loaded) {
      const { status, headers } = await service.get(String(path));
      expect([path, status, headers['cache-control']]).toEqual([
        path,
        200,
        'public, max-age=31536000, immutable',
      ]);
    }
  });

  test('holds nothing inline that its policy would refuse', async () => {
    for (const { path } of SITE_PAGES.filter(({ path }) => !path.includes('{'))) {
      const { text, headers } = await service.get(path);
      if (!String(headers['content-type']).startsWith('text/html')) continue;
      expect([path, text.match(/\sstyle="|\son[a-z]+="|<style/)]).toEqual([path, null]);
      expect(text).not.toMatch(/<script(?![^>]*(?:src=|ld\+json))/);
    }
  });
});

describe('HEAD', () => {
  /** The last two are of the connection, which the client of the tests closes after a HEAD. */
  const VARYING = ['x-request-id', 'date', 'connection', 'keep-alive'];
  const fixed = (headers: object) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !VARYING.includes(name)));

  test('of a page, a picture or an asset has the status and headers of GET, and no body', async () => {
    const { text } = await service.get('/');
    const assets = [...text.matchAll(/(?:src|<link rel="(?:icon|stylesheet)" href)="(\/[^"]+)"/g)];
    const pages = ['/', '/indicators/alpha.child_mortality', '/countries/KEN', '/robots.txt', '/sitemap.xml'];
    const pictures = ['/indicators/alpha.child_mortality/map.svg', '/indicators/alpha.nothing'];
    for (const path of [...pages, ...pictures, ...assets.map(([, path]) => String(path))]) {
      const whole = await service.get(path);
      const head = await service.get(path, { method: 'HEAD' });
      expect([path, head.status, head.text]).toEqual([path, whole.status, '']);
      expect([path, fixed(head.headers)]).toEqual([path, fixed(whole.headers)]);
      expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(whole.text));
    }
  });

  test('is allowed beside GET alone', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, headers } = await service.get('/indicators', { method });
      expect([method, status, headers.allow]).toEqual([method, 405, 'GET, HEAD']);
    }
  });
});

describe('an unknown path', () => {
  test('is a page for those who ask for HTML', async () => {
    const { status, headers, text } = await service.get('/nowhere', { headers: HTML });
    expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(text).toContain('There is no page at this address.');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  });

  test('is JSON for everybody else, and always below the API', async () => {
    for (const [path, accept] of [
      ['/nowhere', '*/*'],
      ['/v1/nowhere', HTML.accept],
      ['/data/api/v1/nowhere', HTML.accept],
    ] as const) {
      const { status, json } = await service.get(path, { headers: { accept } });
      expect([status, json]).toMatchObject([404, { error: { code: 'not_found' } }]);
    }
  });
});

describe('the rate window of pages', () => {
  test('is apart from that of the API', async () => {
    await using limited = await Service.start({
      settings: { PAGES_PER_MINUTE: '2', ANONYMOUS_PER_MINUTE: '2' },
    });
    const statuses: number[] = [];
    for (const path of ['/', '/', '/', '/v1/topics', '/v1/topics', '/v1/topics'])
      statuses.push((await limited.get(path)).status);
    expect(statuses).toEqual([200, 200, 429, 200, 200, 429]);
    const { headers, text } = await limited.get('/');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(text).toContain('Too many requests');
  });

  test('is that of suggestions: they take nothing from the windows of an address or a key', async () => {
    await using limited = await Service.start({
      settings: { PAGES_PER_MINUTE: '60', ANONYMOUS_PER_MINUTE: '2' },
    });
    const { key } = await limited.account();
    const left = async () => (await limited.get('/v1/topics', { key })).headers['x-ratelimit-remaining'];
    const before = Number(await left());
    for (let at = 0; at < 60; at += 1) expect((await limited.get(`/suggest?q=life${at}`)).status).toBe(200);
    expect((await limited.get('/suggest?q=life')).status).toBe(429);
    expect(Number(await left())).toBe(before - 1);
    const statuses: number[] = [];
    for (const path of ['/v1/topics', '/v1/topics', '/v1/topics'])
      statuses.push((await limited.get(path)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});
