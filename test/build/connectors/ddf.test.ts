/** DDFcsv. The `*-mirror` tests compare whole providers cell by cell. */
import { describe, expect, it } from 'vitest';
import { ddf } from '../../../build/connectors/ddf.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

const resource = (path: string, key: string | string[], fields: string[]) => ({
  path,
  schema: { primaryKey: key, fields: fields.map((name) => ({ name })) },
});

const FILES = {
  'datapackage.json': JSON.stringify({
    version: '2.3.2',
    created: '2026-02-27T07:43:11.278Z',
    resources: [
      resource('ddf--concepts.csv', ['concept'], ['concept']),
      resource(
        'points/ddf--datapoints--gdp--by--year--country.csv',
        ['country', 'year'],
        ['year', 'country', 'gdp'],
      ),
      resource('points/more gdp.csv', ['year', 'country'], ['country', 'year', 'gdp']),
      resource('wide.csv', ['country', 'year'], ['country', 'year', 'index', 'growth', 'note']),
      resource('by-gender.csv', ['country', 'gender', 'year'], ['country', 'gender', 'year', 'gdp']),
    ],
  }),
  'ddf--concepts.csv': [
    'concept,concept_type,subject_descriptor,subject_notes,unit,scale,tags,source,format',
    'gdp,measure,"Product, gross",<p>All of it &amp; more</p>,National currency,Billions,"economy, _none, growth",Bureau,',
    'index,measure,"Product, gross",,Index,Units,,,',
    'growth,measure,Growth,,,,,,percent',
    'note,string,Note,,,,,,',
  ].join('\n'),
  'points/ddf--datapoints--gdp--by--year--country.csv':
    'year,country,gdp\n2017,afg,1.4809999999999999\n2018,afg,n/a\n2019,afg,\n',
  'points/more gdp.csv': 'country,year,gdp\nuvk,2017,--\n"uvk",2018,"2"\n',
  'wide.csv': 'country,year,index,growth,note\nafg,2017,100,1.5,text\n',
  'by-gender.csv': 'country,gender,year,gdp\nafg,1,2017,5\n',
  'ddf--notes.csv': 'country,concept,estimates_start_after\nafg,gdp,2017\nuvk,gdp,0\nafg,index,\n',
};
const SETTINGS = { geo: 'country', time: 'year', missing: ['n/a', '--'], notes: { path: 'ddf--notes.csv' } };

describe('DDFcsv', () => {
  it('reads every series by place and year, from several files and from columns', async () => {
    const { series, plan, vintage } = await readAll(ddf, SETTINGS, memoryUpstream(FILES));
    expect(vintage).toBe('2.3.2, 2026-02-27T07:43:11.278Z');
    expect(plan).toBe(3);
    expect([...series.keys()]).toEqual(['gdp', 'index', 'growth']);
    expect(series.get('gdp')?.rows).toEqual([
      { place: 'afg', year: '2017', value: '1.4809999999999999', projected: false },
      { place: 'afg', year: '2018', value: null, projected: true, status: 'estimated' },
      { place: 'afg', year: '2019', value: null, projected: true, status: 'estimated' },
      { place: 'uvk', year: '2017', value: null },
      { place: 'uvk', year: '2018', value: '2' },
    ]);
    expect(series.get('index')?.rows).toEqual([{ place: 'afg', year: '2017', value: '100' }]);
  });

  it('describes series in plain text, and distinguishes equal names by their units', async () => {
    const { series } = await readAll(ddf, SETTINGS, memoryUpstream(FILES));
    expect(series.get('gdp')?.entry).toEqual({
      slug: 'gdp',
      name: 'Product, gross (National currency, billions)',
      description: 'All of it & more',
      unit: 'National currency, billions',
      source: 'Bureau',
      source_url: null,
      tags: ['economy', 'growth'],
      licence: null,
    });
    expect(series.get('index')?.entry.name).toBe('Product, gross (Index)');
    expect(series.get('growth')?.entry).toMatchObject({ name: 'Growth', unit: '%' });
  });

  it('omits excluded series', async () => {
    const { series } = await readAll(ddf, { ...SETTINGS, exclude: ['gdp'] }, memoryUpstream(FILES));
    expect([...series.keys()]).toEqual(['index', 'growth']);
  });

  it('fails only the series of an unreadable file', async () => {
    const { 'points/more gdp.csv': _, ...files } = FILES;
    const { series, failed } = await readAll(ddf, SETTINGS, memoryUpstream(files));
    expect(failed.get('gdp')).toContain('404');
    expect(series.get('growth')?.rows).toHaveLength(1);
  });

  const noPoints = JSON.stringify({ resources: [resource('c.csv', 'concept', ['concept'])] });
  const noColumn = { ...FILES, 'ddf--notes.csv': 'country,concept\nafg,gdp\n' };
  it.each([
    ['no package', {}, /404/],
    ['a package that is not JSON', { 'datapackage.json': '<html>' }, /datapackage\.json: /],
    ['no datapoints with that key', { 'datapackage.json': noPoints }, /no datapoints by country, year/],
    ['notes without the column', noColumn, /no column "estimates_start_after"/],
  ])('fails the provider on %s', async (_, files, message) => {
    await expect(readAll(ddf, SETTINGS, memoryUpstream(files))).rejects.toThrow(message);
  });
});
