/** Guides and reference: held to the code, to the service's own description, and to what the calls that they show answer. */
import { beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../../gateway/api/core/errors.ts';
import { ENCODERS } from '../../../gateway/api/encoders/encoders.ts';
import { isPriced } from '../../../gateway/api/operations/operation.ts';
import { OPERATIONS } from '../../../gateway/api/operations/operations.ts';
import { DOCS_LINKS } from '../../../gateway/site/pages/docs.ts';
import { useService } from '../service.ts';
import { unescaped } from './page-text.ts';

const BASE = 'https://almanac.example';
const REFERENCE = OPERATIONS.map(({ name }) => `/docs/reference/${name}`);
const PAGES = ['/docs', ...DOCS_LINKS.map(({ href }) => href), ...REFERENCE];

const service = await useService({ settings: { PUBLIC_URL: BASE, FREE_PER_MINUTE: '4321' } });
const key = await service.account({ credits: 1_000_000 });
/** The text of each page, by path. */
const texts: Map<string, string> = new Map();
for (const path of PAGES) {
  const { status, text } = await service.get(path);
  expect([path, status]).toEqual([path, 200]);
  texts.set(path, text);
}

const text = (path: string): string => texts.get(path) ?? '';
const within = (pattern: RegExp, html: string): string[] =>
  [...html.matchAll(pattern)].map(([, found = '']) => unescaped(found));

describe.each(PAGES)('%s', (path) => {
  test('shows calls that work', async () => {
    const blocks = within(/<pre[^>]*><code[^>]*>([\s\S]*?)<\/code><\/pre>/g, text(path)).join('\n');
    const shown = [...blocks.matchAll(/https:\/\/almanac\.example(\/v1\/[^\s'"`}]+)/g)].map(([, call]) =>
      String(call),
    );
    for (const call of new Set(shown.filter((one) => !one.endsWith('&')))) {
      const { status } = await service.get(call, { key: key.key });
      expect([call, status]).toEqual([call, 200]);
    }
  });

  test('links to pages and headings that exist', async () => {
    const [, main = ''] = text(path).split('<main');
    const links = new Set(within(/ href="([^"]+)"/g, main.split('</main>')[0] ?? ''));
    for (const link of links) {
      const [target = '', anchor] = link.split('#');
      if (target.startsWith('/account/')) continue;
      const found = target === '' ? text(path) : (texts.get(target) ?? (await service.get(target)).text);
      expect([link, found === '']).toEqual([link, false]);
      expect([link, found.includes('"error"') && !target.startsWith('/v1/')]).toEqual([link, false]);
      if (anchor !== undefined) expect(found, link).toContain(` id="${anchor}"`);
    }
  });

  test('has no placeholder left', () => {
    expect(text(path)).not.toMatch(/\{\{ |\{% |undefined|\[object/);
  });
});

describe('guides', () => {
  test('list every error with what to do about it', () => {
    for (const [code, { status, message }] of Object.entries(ERRORS)) {
      const [row] =
        text('/docs/errors').match(
          new RegExp(`<tr><td[^>]*>${status}</td><td[^>]*><code>${code}</code>.*?</tr>`, 's'),
        ) ?? [];
      expect(unescaped(row ?? ''), code).toContain(message);
      expect(row).toMatch(/<td data-label="what to do">.{4,}<\/td><\/tr>/);
    }
  });

  test('list the calls that have a price, and which need a key', () => {
    for (const operation of OPERATIONS) {
      const { name, path, needsKey, priceText } = operation;
      const row = (page: string): string =>
        text(page).match(new RegExp(`<tr>(?:(?!</tr>).)*/docs/reference/${name}".*?</tr>`, 's'))?.[0] ?? '';
      expect(unescaped(row('/docs/authentication'))).toContain(`/v1${path}`);
      expect(row('/docs/authentication')).toContain(needsKey ? 'required' : 'optional');
      const credits = row('/docs/credits').replaceAll(/<[^>]+>/g, '');
      expect(unescaped(credits)).toContain(isPriced(operation) ? priceText.replaceAll('`', '') : '');
      expect(credits !== '').toBe(isPriced(operation));
    }
  });

  test('state limits and formats as they are', () => {
    expect(text('/docs/limits')).toContain('>4,321</td>');
    for (const { name, mediaType } of ENCODERS)
      for (const word of [name, mediaType])
        expect(text('/docs/formats')).toContain(`<code>${word}</code></td>`);
  });
});

interface Described {
  parameters: { name: string; required: boolean; description: string; example?: unknown }[];
  responses: Record<string, { headers?: object; content?: Record<string, { examples?: object }> }>;
}

test('the reference offers a feed link of exactly the calls that one may freeze', async () => {
  const headers = { 'content-type': 'application/json' };
  const offered: [string, boolean][] = [];
  const frozen: [string, boolean][] = [];
  for (const { name } of OPERATIONS) {
    const page = text(`/docs/reference/${name}`);
    const [query = ''] = within(/<pre><code>curl [^']*'https:\/\/almanac\.example(\/v1\/[^']*)'/g, page);
    const body = JSON.stringify({ name, query, format: 'csv', monthly_cap: 1_000_000 });
    const { json } = await service.get('/v1/feeds', { method: 'POST', key: key.key, headers, body });
    offered.push([name, page.includes('data-feed')]);
    frozen.push([name, json.data?.url !== undefined]);
  }
  expect(offered).toEqual(frozen);
  expect(frozen.filter(([, is]) => is).length).toBeGreaterThan(2);
});

describe('reference', () => {
  let paths: Record<string, { get: Described }>;
  beforeAll(async () => {
    paths = (await service.get('/v1/openapi.json')).json.paths;
  });

  test.each(OPERATIONS)(
    '$name has a worked call, and the parameters, headers and errors of the description',
    ({ name, path, needsKey }) => {
      const page = text(`/docs/reference/${name}`);
      const { parameters, responses } = paths[`/v1${path}`]?.get ?? { parameters: [], responses: {} };
      expect(parameters.length).toBeGreaterThan(0);
      const rows = within(
        /<tr><th scope="row" data-label="Name"><code>([^<]+)<\/code>/g,
        page.split('id="parameters"')[1]?.split('</section>')[0] ?? '',
      );
      expect(rows).toEqual(parameters.map((parameter) => parameter.name));
      for (const header of Object.keys(responses['200']?.headers ?? {}))
        expect(page).toContain(`<dt><code>${header}</code></dt>`);
      for (const [status, { content }] of Object.entries(responses))
        for (const code of Object.keys(content?.['application/json']?.examples ?? {}))
          if (code in ERRORS)
            expect(page).toContain(
              `>${status}</td><th scope="row" data-label="Code"><code>${code}</code></th>`,
            );
      expect(page.includes('Open this call')).toBe(!needsKey);
      expect(page).toMatch(/<pre><code>curl .*https:\/\/almanac\.example\/v1\//);
    },
  );
});
