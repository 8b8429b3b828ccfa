/** SDMX-CSV 1.0 and 2.0, after the field guides and the responses of UNICEF, Eurostat and the OECD. */
import { describe, expect, it } from 'vitest';
import { sdmxCsv } from '../../../build/connectors/sdmx-csv.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

const read = (csv: string | Record<string, string>, settings: object = {}) =>
  readAll(
    sdmxCsv,
    { files: typeof csv === 'string' ? ['d.csv'] : Object.keys(csv), ...settings },
    memoryUpstream(typeof csv === 'string' ? { 'd.csv': csv } : csv),
  );

const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n`;

describe('message formats', () => {
  it('2.0 with labels=both: `ID: Name` headers and cells, a semicolon, a decimal comma', async () => {
    const { series } = await read(
      lines(
        'STRUCTURE[|];STRUCTURE_ID;ACTION;INDICATOR: Indicateur;REF_AREA: Zone;UNIT_MEASURE: Unité;TIME_PERIOD: Temps;OBS_VALUE: Valeur',
        'dataflow;ESTAT:NA(1.6.0): Comptes: nationaux;I;GDP: PIB: total;FRA: France;EUR: Euros;2014: 2014;12,4',
      ),
      { decimal_comma: true },
    );
    expect(series.get('GDP')).toEqual({
      entry: expect.objectContaining({ name: 'PIB: total', unit: 'Euros', tags: ['NA'] }),
      rows: [{ place: 'FRA', year: '2014', value: '12.4' }],
    });
  });

  it('2.0 with labels=name: a label column after each code column', async () => {
    const { series } = await read(
      lines(
        'STRUCTURE,STRUCTURE_ID,STRUCTURE_NAME,ACTION,geo,Country,unit,Unit of measure,TIME_PERIOD,Time,OBS_VALUE,Observation value,OBS_FLAG,Status',
        'dataflow,ESTAT:X(1.0),The flow,I,FR,France,PC,Percentage,2014,2014,12.4,,e,estimated',
      ),
    );
    expect(series.get('X')).toEqual({
      entry: expect.objectContaining({ name: 'The flow', unit: 'Percentage' }),
      rows: [{ place: 'FR', year: '2014', value: '12.4', status: 'e' }],
    });
  });

  it('UNICEF: code and label columns that differ by case only, bounds, no DATAFLOW', async () => {
    const { series } = await read(
      lines(
        'REF_AREA,Geographic area,INDICATOR,Indicator,SEX,Sex,UNIT_MEASURE,Unit of measure,TIME_PERIOD,OBS_VALUE,LOWER_BOUND,UPPER_BOUND,OBS_STATUS,Observation Status',
        'BRA,Brazil,U5,Under-five mortality,F,Female,D,Deaths,2020,13.18,12.1,14.3,A,Normal value',
        'BRA,Brazil,U5,Under-five mortality,_T,Total,D,Deaths,2020,14.8,13.5,,E,Estimated value',
      ),
    );
    expect(series.get('U5')).toEqual({
      entry: expect.objectContaining({ name: 'Under-five mortality', unit: 'Deaths' }),
      rows: [
        {
          place: 'BRA',
          year: '2020',
          value: '13.18',
          ci_lo: '12.1',
          ci_hi: '14.3',
          status: 'A',
          other_dimension: 'SEX=F',
        },
        { place: 'BRA', year: '2020', value: '14.8', ci_lo: '13.5', ci_hi: null, status: 'E' },
      ],
    });
  });

  it('2.0 actions: deleted figures are withdrawn, rows with attributes only are skipped', async () => {
    const { series } = await read(
      lines(
        'STRUCTURE[;],STRUCTURE_ID,ACTION,INDICATOR,REF_AREA,TIME_PERIOD,OBS_VALUE,ATTR[en;fr]',
        'dataflow,A:F(1.0),R,I,FRA,2014,1,en:a;fr:b',
        'dataflow,A:F(1.0),D,I,FRA,2013,-,',
        'dataflow,A:F(1.0),I,I,,,,x',
      ),
    );
    expect(series.get('I')?.rows).toEqual([
      { place: 'FRA', year: '2014', value: '1' },
      { place: 'FRA', year: '2013', value: null, withdrawn: true },
    ]);
  });
});

describe('dimensions', () => {
  const table = lines(
    'INDICATOR,REF_AREA,SEX,AGE,FREQ,TIME_PERIOD,OBS_VALUE',
    'I,FRA,F,Y15,A,2000,1',
    'I,FRA,_T,Y15,A,2000,2',
    'I,FRA,_T,TOTAL,A,2000,3',
    'J,FRA,M,Y15,A,2000,4',
  );
  const kept = (rows: { value: unknown; other_dimension?: string }[] | undefined) =>
    rows?.map(({ value, other_dimension }) => (other_dimension === undefined ? value : other_dimension));

  it('are pinned to the total by default', async () => {
    const { series } = await read(table);
    expect(kept(series.get('I')?.rows)).toEqual(['SEX=F', 'AGE=Y15', '3']);
    expect(kept(series.get('J')?.rows)).toEqual(['4']);
  });

  it('are pinned by the definition, for all files or one', async () => {
    expect(kept((await read(table, { pin: { SEX: '_T', AGE: ['Y15'] } })).series.get('I')?.rows)).toEqual([
      'SEX=F',
      '2',
      'AGE=TOTAL',
    ]);
    const one = await read(table, { files: [{ path: 'd.csv', pin: { AGE: 'TOTAL' } }] });
    expect([...one.series.keys()]).toEqual(['I']);
    expect(kept(one.series.get('I')?.rows)).toEqual(['AGE=Y15', 'AGE=Y15', '3']);
  });

  it('make one series per code, the total without a suffix', async () => {
    const { series } = await read(table, {
      indicator: ['INDICATOR', 'SEX'],
      total: ['_T'],
      pin: { AGE: 'Y15' },
    });
    expect([...series.keys()]).toEqual(['I-F', 'I', 'J-M']);
    expect(series.get('I')?.entry.name).toBe('I');
    expect(series.get('I-F')?.entry.name).toBe('I, F');
  });

  it('whose codes map to the same slug fail', async () => {
    const { series, failed } = await read(
      lines('INDICATOR,REF_AREA,TIME_PERIOD,OBS_VALUE', 'a/b,FRA,2000,1', 'a b,FRA,2001,2', 'c,FRA,2000,3'),
    );
    expect([...series.keys()]).toEqual(['c']);
    expect(failed.get('a-b')).toBe('a/b and a b would both be called "a-b"');
  });

  it('that are pinned but in no file are an error', async () => {
    await expect(read(table, { pin: { SEXE: '_T' } })).rejects.toThrow('pinned, but in no file: SEXE');
    await expect(read(table, { files: [{ path: 'd.csv', pin: { sex: '_T' } }] })).rejects.toThrow(
      'no column sex',
    );
  });
});

describe('units and powers of ten', () => {
  const table = (a: string, b: string): string =>
    lines(
      'INDICATOR,REF_AREA,UNIT_MEASURE,UNIT_MULT,TIME_PERIOD,OBS_VALUE,LOWER_BOUND',
      `I,FRA,${a},12.4,1`,
      `I,DEU,${b},-.05,`,
    );

  it('keeps the figures and adds the scale to the unit', async () => {
    const { series } = await read(table('USD,6,2000', 'USD,6,2000'));
    expect(series.get('I')).toMatchObject({
      entry: { unit: 'USD (millions)' },
      rows: [{ value: '12.4' }, { value: '-.05' }],
    });
    expect((await read(table('USD,5,2000', 'USD,5,2000'))).series.get('I')?.entry.unit).toBe('USD (10^5)');
    expect((await read(table('USD,0,2000', 'USD,0,2000'))).series.get('I')?.entry.unit).toBe('USD');
  });

  it('fails a series with several units or scales, and says what to pin', async () => {
    expect((await read(table('USD,6,2000', 'EUR,6,2000'))).failed.get('I')).toBe(
      "several units (USD, EUR): pin the unit's dimension to one",
    );
    expect((await read(table('USD,6,2000', 'USD,9,2000'))).failed.get('I')).toContain(
      'several powers of ten (6, 9)',
    );
  });
});

describe('files', () => {
  const header = 'INDICATOR,REF_AREA,TIME_PERIOD,OBS_VALUE';

  it('that share a series are merged, contiguously', async () => {
    const { series } = await read({
      a: lines(header, 'I,FRA,2000,1', 'J,FRA,2000,2'),
      b: lines(header, 'I,DEU,2000,3'),
    });
    expect(series.get('I')?.rows.map((row) => row.value)).toEqual(['1', '3']);
    expect(series.get('J')?.rows.map((row) => row.value)).toEqual(['2']);
  });

  it('can each be one series named by the definition', async () => {
    const files = [{ path: 'data/X?format=csv', slug: 'mine', name: 'Mine', unit: 'u', tags: ['t'] }];
    const { series } = await read({ 'data/X': lines(header, 'I,FRA,2000,1', 'J,DEU,2000,2') }, { files });
    expect(series.get('mine')).toMatchObject({
      entry: { name: 'Mine', unit: 'u', tags: ['t'] },
      rows: [{ value: '1' }, { value: '2' }],
    });
  });

  it('use the column names of the definition, and extract the year from a date', async () => {
    const { series } = await read(lines('S,W,WHEN,FIGURE,LO,HI,ST', 'I,FRA,2014-12-31,n.a.,1,2,PRED'), {
      indicator: 'S',
      place: 'W',
      time: 'WHEN',
      value: 'FIGURE',
      ci_lo: 'LO',
      ci_hi: 'HI',
      status: 'ST',
      missing: ['n.a.'],
      year_pattern: String.raw`^(\d{4})-12-31$`,
    });
    expect(series.get('I')?.rows).toEqual([
      {
        place: 'FRA',
        year: '2014',
        value: null,
        ci_lo: '1',
        ci_hi: '2',
        status: 'PRED',
        projected: true,
      },
    ]);
  });

  it('that are truncated fail the series they contain, and no other', async () => {
    const { series, failed } = await read({
      a: lines(header, 'I,FRA,2000,1', 'K,FRA,2000,1'),
      b: `${header}\r\nI,DEU,2000,3\r\nI,DE`,
      c: '<!doctype html>\n<p>Queued</p>\n',
    });
    expect([...series.keys()]).toEqual(['K']);
    expect(failed.get('I')).toContain('Invalid Record Length');
    expect(failed.get('c')).toContain('a page of HTML');
  });

  it.each([
    [
      'no figures',
      'INDICATOR,REF_AREA,TIME_PERIOD',
      'no column OBS_VALUE; there are: INDICATOR, REF_AREA, TIME_PERIOD',
    ],
    ['no time', 'INDICATOR,REF_AREA,OBS_VALUE', 'no column TIME_PERIOD'],
    ['nothing', '', 'the file is empty'],
  ])('with %s fail the provider', async (_name, csv, reason) => {
    await expect(read(csv)).rejects.toThrow(reason);
  });
});
