/** Query strings and header values: what goes in comes out, whatever it is. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { headerAddress, headerText } from '../../../../gateway/api/http/api/representation.ts';

const wellFormed = fc.string({ unit: 'binary' });

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
