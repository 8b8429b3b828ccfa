/** Sources as upstream names them. */
import { describe, expect, it } from 'vitest';
import { citedSource, listedSources, sourceFields } from '../../../build/connectors/plain-text.ts';

describe('a citation', () => {
  it('that is short is a name', () => {
    expect(citedSource(' UN <b>Statistics</b> ', 'https://un.example/')).toEqual({
      ...{ name: 'UN Statistics', url: 'https://un.example/', note: null },
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

describe('a list', () => {
  it('is split at semicolons, with URLs in turn', () => {
    expect(listedSources('A; B', 'https://a.example/; https://b.example/')).toEqual([
      { name: 'A', url: 'https://a.example/', note: null },
      { name: 'B', url: 'https://b.example/', note: null },
    ]);
    expect(listedSources('A; B', 'https://a.example/').map(({ url }) => url)).toEqual([
      ...['https://a.example/', 'https://a.example/'],
    ]);
  });
});

describe('the fields of an entry', () => {
  it('name one plain source alone, and several or a note beside it', () => {
    const plain = { name: 'A', url: null, note: null };
    expect(sourceFields([])).toEqual({ source: null, source_url: null });
    expect(sourceFields([plain])).toEqual({ source: 'A', source_url: null });
    expect(sourceFields([plain, { ...plain, name: null }])).toEqual({ source: 'A', source_url: null });
    const noted = { ...plain, note: 'N' };
    expect(sourceFields([noted])).toEqual({ source: 'A', source_url: null, sources: [noted] });
    expect(sourceFields([plain, noted]).sources).toEqual([plain, noted]);
  });
});
