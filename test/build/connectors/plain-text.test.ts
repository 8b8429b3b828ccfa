/** Upstream markup as plain text, and slugs that are valid in an indicator id. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeToSlug, plainText, toSlug } from '../../../build/connectors/plain-text.ts';
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
