/** How to cite an indicator, a provider and a snapshot: BibTeX and CSL-JSON. */
import { describe, expect, test } from 'vitest';
import { bibtex, type Citation, cslItem } from '../../gateway/api/encoders/documents/citations.ts';
import { FIXTURE_ID } from './fixture-snapshot.ts';
import { codeOf, useService } from './service.ts';

const PUBLIC_URL = 'https://almanac.example/';

const service = await useService({ settings: { PUBLIC_URL } });

describe('an indicator', () => {
  test('in CSL-JSON: provider and collectors, credit line, licence, snapshot', async () => {
    const answer = await service.get('/v1/indicators/alpha.life_expectancy/citation.json');
    expect(answer.headers['content-type']).toBe('application/vnd.citationstyles.csl+json; charset=utf-8');
    expect(answer.headers['x-snapshot']).toBe(FIXTURE_ID);
    const sources = await service.get('/v1/indicators/alpha.life_expectancy?include=sources');
    const collectors = sources.json.data.sources.map(({ name }: { name: string }) => ({ literal: name }));
    expect(collectors).not.toEqual([]);
    expect(answer.json).toEqual([
      {
        id: `alpha.life_expectancy-${FIXTURE_ID}`,
        type: 'dataset',
        title: 'Life expectancy',
        author: [{ literal: 'Alpha Institute' }, ...collectors],
        issued: { 'date-parts': [[2026, 11, 20]] },
        publisher: 'Almanac',
        version: FIXTURE_ID,
        note: 'Alpha Institute, CC BY 4.0; licence: CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)',
        URL: `https://almanac.example/indicators/alpha.life_expectancy/editions/${FIXTURE_ID}`,
      },
    ]);
    expect((await service.get(new URL(answer.json[0].URL).pathname)).text).toContain('<h1>Life expectancy');
  });

  test.each(['', '?include=sources', '?as_of=2030-01-01T12:00:00%2B05:30'])(
    'is linked from its record%s',
    async (query) => {
      const { headers } = await service.get(`/v1/indicators/alpha.life_expectancy${query}`);
      const links = [...String(headers.link).matchAll(/<([^>]+)>; rel="describedby"; type="([^"]+)"/g)];
      expect(links.map(([, , type]) => type)).toEqual([
        'application/x-bibtex',
        'application/vnd.citationstyles.csl+json',
        'application/vnd.datapackage+json',
        'application/ld+json',
        'application/ld+json',
      ]);
      for (const [, address = '', type = ''] of links) {
        const linked = await service.get(address);
        expect([linked.status, String(linked.headers['content-type']).split(';')[0]]).toEqual([200, type]);
        expect(linked.text).toContain(FIXTURE_ID);
        expect(linked.text).toContain('alpha.life_expectancy');
      }
    },
  );

  test('in BibTeX', async () => {
    const answer = await service.get('/v1/indicators/gamma.reserves/citation.bib');
    expect(answer.headers['content-type']).toBe('application/x-bibtex; charset=utf-8');
    expect(answer.text).toContain(`@misc{gamma.reserves-${FIXTURE_ID},\n  author = {{Gamma Fund}`);
    expect(answer.text).toContain('  year = {2026},\n  month = nov,\n');
  });

  test('of an earlier time names that snapshot', async () => {
    const { json } = await service.get(
      `/v1/indicators/alpha.life_expectancy/citation.json?as_of=${FIXTURE_ID}`,
    );
    expect(json[0].version).toBe(FIXTURE_ID);
    const before = await service.get('/v1/indicators/alpha.life_expectancy/citation.json?as_of=1999-12-31');
    expect([before.status, codeOf(before)]).toEqual([404, 'edition_not_found']);
  });
});

test('a provider is its author, under its own licence', async () => {
  const { json } = await service.get('/v1/providers/beta/citation.json');
  expect(json[0]).toMatchObject({
    title: 'Indicators of Büro Beta',
    author: [{ literal: 'Büro Beta' }],
    note: 'Büro “Beta” — 100 % público, 東京; licence: Beta terms',
  });
  const { pathname, search } = new URL(json[0].URL);
  expect(pathname + search).toBe(`/editions/${FIXTURE_ID}?provider=beta`);
});

test('a snapshot has Almanac as its author', async () => {
  const { json } = await service.get(`/v1/editions/${FIXTURE_ID}/citation.json`);
  expect(json[0]).toMatchObject({ author: [{ literal: 'Almanac' }], version: FIXTURE_ID });
});

test.each([
  ['indicators/none.such/citation.bib', 'indicator_not_found', 'none.such'],
  ['providers/none/citation.json', 'not_found', 'none'],
  ['editions/20260101T000000Z-00000001/citation.bib', 'edition_not_found', '20260101T000000Z-00000001'],
])('%s is 404', async (path, code, named) => {
  const answer = await service.get(`/v1/${path}`);
  expect([answer.status, codeOf(answer)]).toEqual([404, code]);
  expect(answer.json.error.message).toContain(`'${named}'`);
});

describe('text that BibTeX or a reference manager would misread', () => {
  const citation: Citation = {
    key: 'a.b-1',
    title: 'Share {of} 100 % & more_ #1 $ ~ ^ \\end',
    authors: ['Smith and Sons', 'Ünal {'],
    published_at: '2026-01-31T23:59:59+00:00',
    version: '1',
    url: 'https://almanac.example/a_b?c=d&e',
    note: 'two\nlines "quoted" <b> ddf---undp',
  };

  test('is escaped, and braces stay balanced', () => {
    const text = bibtex(citation);
    expect(text).toContain(
      'title = {{Share {\\textbraceleft}of{\\textbraceright} 100 \\% \\& more\\_ \\#1 \\$ {\\textasciitilde} ' +
        '{\\textasciicircum} {\\textbackslash}end}}',
    );
    expect(text).toContain('author = {{Smith and Sons} and {Ünal {\\textbraceleft}}}');
    expect(text).toContain('note = {two lines "quoted" <b> ddf-{}-{}-undp}');
    expect(text.split('{')).toHaveLength(text.split('}').length);
    expect(text).toContain(`url = {${citation.url}}`);
  });

  test('stands unescaped in CSL-JSON, on one line', () => {
    expect(cslItem(citation)).toMatchObject({
      title: citation.title,
      author: [{ literal: 'Smith and Sons' }, { literal: 'Ünal {' }],
      issued: { 'date-parts': [[2026, 1, 31]] },
      note: 'two lines "quoted" <b> ddf---undp',
    });
    expect(cslItem(citation).URL).toBe(citation.url);
  });
});
