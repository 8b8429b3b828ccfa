/** Grapher charts: metadata matching, forecasts, bounds, place codes, credits, unreadable charts. */
import { describe, expect, it } from 'vitest';
import { matchColumns, owidGrapher } from '../../../build/connectors/owid-grapher.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

type Columns = Parameters<typeof matchColumns>[1];

const chart = (columns: Columns, more: object = {}): string =>
  JSON.stringify({
    chart: { title: 'A chart', subtitle: 'Its subtitle', citation: 'A source', ...more },
    columns,
  });

const read = (files: Record<string, string>, settings: object = { charts: ['c'] }) =>
  readAll(owidGrapher, settings, memoryUpstream(files));

describe('matching headers with metadata', () => {
  const titled = (titleShort: string, more: object = {}) => ({ titleShort, ...more });
  const match = (headers: string[], columns: Columns): (string | undefined)[] => {
    const found = matchColumns(headers, columns);
    return headers.map((header) => found.get(header)?.titleShort ?? undefined);
  };

  it('1: by key, short name, short and long title, ignoring case and spaces', () => {
    const columns = {
      'Key one': titled('One'),
      two: titled('Two', { shortName: 'short_two' }),
      three: titled('Title  Three'),
      four: titled('Four', { titleLong: 'Four, at length' }),
    };
    expect(match(['four, at length', 'title three', 'short_two', 'Key one'], columns)).toEqual([
      'Four',
      'Title  Three',
      'Two',
      'One',
    ]);
  });

  it('1: with or without the unit in brackets', () => {
    const columns = {
      'Coal (kWh)': titled('C', { shortUnit: 'kWh' }),
      'Gas (kWh - equivalent)': titled('G', { shortUnit: 'kWh' }),
    };
    expect(match(['Gas', 'Coal'], columns)).toEqual(['G', 'C']);
    expect(match(['Gas', 'Coal', 'x'], { 'Coal (old)': titled('C', { shortUnit: 'kWh' }) })).toEqual([
      undefined,
      'C', // by its only word, rule 3
      undefined,
    ]);
  });

  it('2: by position, when all name matches agree with it', () => {
    const columns = { A: titled('A'), 'Meat, pig': titled('Pig meat'), C: titled('C') };
    expect(match(['A', 'Pork', 'C'], columns)).toEqual(['A', 'Pig meat', 'C']);
  });

  it('2: not by position when a name match disagrees, nor when the counts differ', () => {
    const columns = { C: titled('C'), 'Meat, pig': titled('Pig meat'), A: titled('A') };
    expect(match(['A', 'Pork', 'C'], columns)).toEqual(['A', undefined, 'C']);
    expect(match(['A', 'Pork'], columns)).toEqual(['A', undefined]);
  });

  it('3: by words, when only one entry contains them all', () => {
    const columns = {
      'Share from solar': titled('First'),
      'Share from wind': titled('Second'),
      z: titled('Z'),
    };
    expect(match(['Wind', 'Share'], columns)).toEqual(['Second', undefined]);
  });
});

describe('a chart', () => {
  it('is one series named after the chart, with credits and plain text', async () => {
    const { series, vintage } = await read({
      'c.csv':
        'Entity,Code,Year,V\nFrance,FRA,2000,1.50\nFrance,FRA,2001,\nAfrica,,2000,2\nKosovo,OWID_KOS,-500,3\n',
      'c.metadata.json': chart({
        V: {
          titleShort: 'The <b>value</b>',
          unit: '% of [people](#dod:people)',
          descriptionShort: 'Short.',
          descriptionKey: ['First.', 'Second.'],
          citationShort: 'UN (2024) – processed by Our World in Data',
          lastUpdated: '2024-07-12',
          origins: [
            { license: { name: 'CC BY 4.0' } },
            { license: { name: 'CC BY-NC 4.0' } },
            { license: { name: 'CC BY 4.0' } },
          ],
        },
      }),
    });
    expect(vintage).toBe('2024-07-12');
    expect([...series.values()]).toEqual([
      {
        entry: {
          slug: 'c',
          name: 'The value',
          description: 'Short.\n\nFirst.\n\nSecond.',
          unit: '% of people',
          source: 'UN (2024)',
          source_url: 'https://ourworldindata.org/grapher/c',
          tags: ['c'],
          licence: 'CC BY 4.0; CC BY-NC 4.0',
        },
        rows: [
          { place: 'FRA', year: '2000', value: '1.50' },
          { place: 'FRA', year: '2001', value: null },
          { place: 'Africa', year: '2000', value: '2' },
          { place: 'OWID_KOS', year: '-500', value: '3' },
        ],
      },
    ]);
  });

  it('pairs forecasts and bounds with their series, in any column order', async () => {
    const { series } = await read({
      'c.csv':
        'Entity,Code,Year,P (Projected),P,Q,Q_lower,Q_upper\n' +
        'France,FRA,2023,,10,1,0.5,1.5\nFrance,FRA,2024,11,,2,,\nFrance,FRA,2025,,,3,2,4\nFrance,FRA,2026,8,9,,,\n',
      'c.metadata.json': chart({ p2: {}, p: {}, q: {}, ql: {}, qu: {} }),
    });
    expect([...series.keys()]).toEqual(['c-p', 'c-q']);
    expect(series.get('c-p')?.rows).toEqual([
      { place: 'FRA', year: '2023', value: '10', projected: false },
      { place: 'FRA', year: '2024', value: '11', projected: true, status: 'forecast' },
      { place: 'FRA', year: '2025', value: null, blank: true },
      { place: 'FRA', year: '2026', value: '9', projected: false },
    ]);
    expect(series.get('c-q')?.rows).toEqual([
      { place: 'FRA', year: '2023', value: '1', ci_lo: '0.5', ci_hi: '1.5' },
      { place: 'FRA', year: '2024', value: '2', ci_lo: null, ci_hi: null },
      { place: 'FRA', year: '2025', value: '3', ci_lo: '2', ci_hi: '4' },
      { place: 'FRA', year: '2026', value: null, ci_lo: null, ci_hi: null, blank: true },
    ]);
  });

  it('applies the definition: slugs, tags, skipped columns, bounds, metadata, empty cells', async () => {
    const { series } = await read(
      {
        'd/c.csv': 'Entity,Code,Year,a,b,lo,hi\nFrance,FRA,2000,1,2,3,4\nFrance,FRA,2001,,2,,\n',
        'd/c.json': chart({ k: { titleShort: 'Key', unit: 'u' } }),
      },
      {
        charts: [
          {
            chart: 'c',
            slug: 'short',
            tags: ['word'],
            columns: { a: { slug: 'a-slug', metadata: 'k', ci_lo: 'lo', ci_hi: 'hi' }, b: { skip: true } },
          },
        ],
        csv: 'd/{chart}.csv',
        metadata: 'd/{chart}.json',
        empty: 'absent',
      },
    );
    expect([...series.values()]).toMatchObject([
      {
        entry: { slug: 'a-slug', name: 'Key', unit: 'u', tags: ['c', 'word'] },
        rows: [{ place: 'FRA', year: '2000', value: '1', ci_lo: '3', ci_hi: '4' }],
      },
    ]);
  });

  it('requests full data with display names, and encodes the chart name', async () => {
    const upstream = memoryUpstream({
      'a b.csv': 'Entity,Code,Year,V\nFrance,FRA,2000,1\n',
      'a b.metadata.json': chart({}),
    });
    await readAll(owidGrapher, { charts: ['a b'] }, upstream);
    expect(upstream.requested).toEqual([
      'a%20b.metadata.json?v=1&csvType=full&useColumnShortNames=false',
      'a%20b.csv?v=1&csvType=full&useColumnShortNames=false',
    ]);
  });
});

describe('an unreadable chart', () => {
  const good = { 'g.csv': 'Entity,Code,Year,V\nFrance,FRA,2000,1\n', 'g.metadata.json': chart({ V: {} }) };

  const bad = (csv: string) => ({ 'c.csv': csv, 'c.metadata.json': chart({}) });

  it.each([
    ['missing', {}, '404'],
    ['with days instead of years', bad('Entity,Code,Day,V\nFrance,FRA,2000-01-01,1\n'), 'no column "Year"'],
    ['without a code column', bad('Country,Year,V\nFrance,2000,1\n'), 'no column "Code"'],
    ['with invalid metadata', { 'c.csv': '', 'c.metadata.json': '<html>' }, 'JSON'],
    ['truncated', bad('Entity,Code,Year,V\nFrance,FRA,2000,1\nFra'), 'Invalid Record Length'],
  ])('%s fails alone', async (_name, files, reason) => {
    const { series, failed } = await read({ ...good, ...files }, { charts: ['c', 'g'] });
    expect([...failed.values()].join()).toContain(reason);
    expect(series.get('g')?.rows).toHaveLength(1);
  });

  it('reports every series of a truncated file', async () => {
    const files = { ...good, ...bad('Entity,Code,Year,A,B\nx,,2000,1,2\nx,') };
    expect([...(await read(files, { charts: ['c', 'g'] })).failed.keys()]).toEqual(['c-a', 'c-b']);
  });

  it('fails the provider when no chart is readable, after a few requests', async () => {
    const upstream = memoryUpstream({});
    const charts = Array.from({ length: 100 }, (_, n) => `c${n}`);
    await expect(readAll(owidGrapher, { charts }, upstream)).rejects.toThrow('404');
    expect(upstream.requested.length).toBeLessThan(10);
    await expect(read({}, { charts: ['c'] })).rejects.toThrow('404');
  });
});
