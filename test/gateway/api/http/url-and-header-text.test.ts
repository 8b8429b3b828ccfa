/** Query strings and header values: what goes in comes out, whatever it is. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { headerAddress, headerText } from '../../../../gateway/api/http/api/representation.ts';
import { parseQueryString, UNREADABLE } from '../../../../gateway/api/operations/parameters/parameters.ts';

const wellFormed = fc.string({ unit: 'binary' });

describe('query strings', () => {
  test('decodes any name and value that a browser encodes', () => {
    fc.assert(
      fc.property(wellFormed, wellFormed, (name, value) => {
        const text = new URLSearchParams([[name, value]]).toString();
        expect(parseQueryString(text)[name]).toBe(value);
      }),
    );
  });

  test.each([
    ['a', { a: '' }],
    ['a=', { a: '' }],
    ['=b', { '': 'b' }],
    ['a=1=2', { a: '1=2' }],
    ['&&a=1&&', { a: '1' }],
    ['a=+%2B', { a: ' +' }],
    ['', {}],
  ])('%j', (text, expected) => {
    expect({ ...parseQueryString(text) }).toEqual(expected);
  });

  test.each(['a=%', 'a=%1', 'a=%GG', 'a=%ff', 'a=%C3%28', 'a=%ED%A0%80', 'a=%C0%AF'])(
    '%s is unreadable',
    (text) => {
      expect(parseQueryString(text).a).toBe(UNREADABLE);
    },
  );

  test('keeps an unreadable name as sent, so that it counts as an unknown one', () => {
    expect({ ...parseQueryString('%ff=1&b=2') }).toEqual({ '%ff': '1', b: '2' });
  });
});

describe('header values', () => {
  test('are printable ASCII and read back by decodeURIComponent', () => {
    fc.assert(
      fc.property(wellFormed, (text) => {
        expect(headerText(text)).toMatch(/^[\x20-\x7e]*$/);
        expect(decodeURIComponent(headerText(text))).toBe(text);
      }),
    );
  });

  test('keeps plain credit lines unchanged', () => {
    expect(headerText('Gapminder, CC BY 4.0 (https://gapminder.org)')).toBe(
      'Gapminder, CC BY 4.0 (https://gapminder.org)',
    );
  });

  test('an address cannot break out of its angle brackets or its line', () => {
    expect(headerAddress('https://a.example/?x=1>; rel="x"\r\nX: y')).toBe(
      'https://a.example/?x=1%3E;%20rel="x"%0D%0AX:%20y',
    );
  });
});
