/** Upstream markup as plain text, slugs that are valid in an indicator id, and sources as upstream names them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  citedSource,
  codeToSlug,
  listedSources,
  plainText,
  sourceFields,
  toSlug,
} from '../../../build/connectors/plain-text.ts';
import { INDICATOR_ID } from '../../../data/schema/records.ts';

describe('plainText', () => {
  it.each([
    ['<p>One.</p><p>Two<br>three</p>', 'One.\nTwo\nthree'],
    ['<ul><li>a</li><li><b>b</b></li></ul>', 'a\nb'],
    ['<a href="x?a=1&amp;b=2">the <i>site</i></a>', 'the site'],
    ['see [energy](#dod:primaryenergy) here', 'see energy here'],
    ['R&amp;D &lt;5 &#8211; &#x2013; &nbsp;x', 'R&D <5 – – x'],
    ['p < 0.05 and q > 3', 'p < 0.05 and q > 3'],
    ['a<script>alert(1)</script>b', 'a b'],
    ['&bogus; &#0; &#x110000;', '&bogus; &#0; &#x110000;'],
    ['  a \t b\r\n\r\n\r\n\r\nc ', 'a b\n\nc'],
  ])('converts %j', (text, plain) => {
    expect(plainText(text)).toBe(plain);
  });

  it('makes empty text null', () => {
    expect([plainText(null), plainText(undefined), plainText(''), plainText(' <br> ')]).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });
});

describe('toSlug', () => {
  it.each([
    ['Births outside of marriage', 'births-outside-of-marriage'],
    ['Côte d’Ivoire – (2020)!', 'cote-divoire-2020'],
    ['GDP per capita ($1.90)', 'gdp-per-capita-1.90'],
    ['!?', 'series'],
  ])('makes %j %s', (name, slug) => {
    expect(toSlug(name)).toBe(slug);
  });

  it('always makes a valid second half of an indicator id', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (name) => {
        expect(`p.${toSlug(name)}`).toMatch(INDICATOR_ID);
        expect(`p.${codeToSlug(name)}`).toMatch(INDICATOR_ID);
      }),
    );
  });

  it('keeps a code that is already valid', () => {
    expect(codeToSlug('CME_MRY0T4')).toBe('CME_MRY0T4');
    expect(codeToSlug('a/b')).toBe('a-b');
  });
});

describe('a citation', () => {
  it('that is short is a name', () => {
    expect(citedSource(' UN <b>Statistics</b> ', 'https://un.example/')).toEqual({
      name: 'UN Statistics',
      url: 'https://un.example/',
      note: null,
    });
    expect(citedSource('', null)).toEqual({ name: null, url: null, note: null });
  });

  it('that is long has its first sentence as a name', () => {
    const first = 'World Bank, Development Research Group, based on surveys of the U.S. and others';
    const rest = `Data are ${'from households, '.repeat(10)}and so on.`;
    expect(citedSource(`${first}. ${rest}`, null)).toEqual({ name: first, url: null, note: rest });
    const endless = 'word '.repeat(60).trim();
    expect(citedSource(endless, null)).toEqual({ name: endless, url: null, note: null });
  });
});

it('a list is split at semicolons, with URLs in turn', () => {
  expect(listedSources('A; B', 'https://a.example/; https://b.example/')).toEqual([
    { name: 'A', url: 'https://a.example/', note: null },
    { name: 'B', url: 'https://b.example/', note: null },
  ]);
  expect(listedSources('A; B', 'https://a.example/').map(({ url }) => url)).toEqual([
    ...['https://a.example/', 'https://a.example/'],
  ]);
});

it('the fields of an entry name one plain source alone, and several or a note beside it', () => {
  const plain = { name: 'A', url: null, note: null };
  expect(sourceFields([])).toEqual({ source: null, source_url: null });
  expect(sourceFields([plain])).toEqual({ source: 'A', source_url: null });
  expect(sourceFields([plain, { ...plain, name: null }])).toEqual({ source: 'A', source_url: null });
  const noted = { ...plain, note: 'N' };
  expect(sourceFields([noted])).toEqual({ source: 'A', source_url: null, sources: [noted] });
  expect(sourceFields([plain, noted]).sources).toEqual([plain, noted]);
});
