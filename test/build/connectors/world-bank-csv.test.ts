/** The World Bank's CSV downloads: zips, unpacked files, editions, databases, units in names, faulty files. */
import { expect, it } from 'vitest';
import { unitFromName } from '../../../build/connectors/world-bank-api.ts';
import { worldBankCsv } from '../../../build/connectors/world-bank-csv.ts';
import { zipOf } from '../fakes/zip.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

const NAME = 'API_SP.POP.TOTL_DS2_en_csv_v2_1.csv';

/** A World Bank download: byte order mark, preamble of four lines, CRLF, a trailing comma on each line. */
function download(rows: string[][], updated = '2025-04-15', years = ['2022', '2023', '2024']): string {
  const line = (cells: string[]): string => `${cells.map((cell) => `"${cell}"`).join(',')},\r\n`;
  const head = `\uFEFF${line(['Data Source', 'World Development Indicators'])}\r\n${line(['Last Updated Date', updated])}\r\n`;
  const header = line(['Country Name', 'Country Code', 'Indicator Name', 'Indicator Code', ...years]);
  return head + header + rows.map(line).join('');
}

const population = (code: string, ...values: string[]): string[] =>
  [code, code, 'Population, total', 'SP.POP.TOTL'].concat(values);
const NOTES =
  '\uFEFF"INDICATOR_CODE","INDICATOR_NAME","SOURCE_NOTE","SOURCE_ORGANIZATION",\r\n"SP.POP.TOTL","Population, total","All\r\nresidents.","UN",\r\n';
const zipped = (csv: string, name = NAME): Buffer =>
  zipOf([
    { name: `Metadata_Indicator_${name}`, body: NOTES },
    { name, body: csv },
    { name: `Metadata_Country_${name}`, body: '"Country Code","Region",\r\n' },
  ]);

it('reads a zip: strips preamble, byte order mark, CRLF and trailing comma; empty cells are gaps', async () => {
  const csv = download([population('NOR', '5457127', '5519594', ''), population('WLD', '1e3', '', '')]);
  const upstream = memoryUpstream({ 'a b.zip': zipped(csv) });
  const { series, vintage } = await readAll(worldBankCsv, { files: ['a b.zip'] }, upstream);
  expect(series.get('SP.POP.TOTL')).toEqual({
    entry: {
      slug: 'SP.POP.TOTL',
      name: 'Population, total',
      description: 'All residents.',
      unit: null,
      source: 'UN',
      source_url: 'https://data.worldbank.org/indicator/SP.POP.TOTL',
      tags: [],
      licence: null,
    },
    rows: [
      { place: 'NOR', year: '2022', value: '5457127' },
      { place: 'NOR', year: '2023', value: '5519594' },
      { place: 'NOR', year: '2024', value: null, blank: true },
      { place: 'WLD', year: '2022', value: '1e3' },
      { place: 'WLD', year: '2023', value: null, blank: true },
      { place: 'WLD', year: '2024', value: null, blank: true },
    ],
  });
  expect(vintage).toBe('2025-04-15');
});

it('treats empty cells as absent rows where the definition says so', async () => {
  const upstream = memoryUpstream({ 'a.zip': zipped(download([population('NOR', '', '7', '')])) });
  const { series } = await readAll(worldBankCsv, { files: ['a.zip'], empty: 'absent' }, upstream);
  expect(series.get('SP.POP.TOTL')?.rows).toEqual([{ place: 'NOR', year: '2023', value: '7' }]);
});

it('reads an unpacked file with its metadata file, and a bulk file without preamble', async () => {
  const bulk =
    'Country Name,Country Code,Indicator Name,Indicator Code,1960 [YR1960]\nNorway,NOR,Energy use (kg),EG.USE,4\n';
  const upstream = memoryUpstream({
    [`x/${NAME}`]: download([population('NOR', '1', '2', '3')]),
    [`x/Metadata_Indicator_${NAME}`]: NOTES,
    'bulk.zip': zipOf([
      { name: 'WDICSV.csv', body: bulk },
      { name: 'WDISeries.csv', body: 'Series Code,Topic,License Type\nEG.USE,Energy: Use,IEA terms\n' },
      { name: 'WDICountry.csv', body: 'Country Code\n' },
    ]),
  });
  const { series } = await readAll(worldBankCsv, { files: [`x/${NAME}`, 'bulk.zip'] }, upstream);
  expect(series.get('SP.POP.TOTL')?.entry.source).toBe('UN');
  expect(series.get('EG.USE')?.rows).toEqual([{ place: 'NOR', year: '1960', value: '4' }]);
  expect(series.get('EG.USE')?.entry).toMatchObject({
    licence: 'IEA terms',
    unit: 'kg',
    tags: ['Energy', 'Use', 'Energy: Use'],
  });
});

it('regroups a topic download by series', async () => {
  const other = (code: string, value: string): string[] => [code, code, 'Rural', 'SP.RUR', value, '', ''];
  const csv = download([
    population('NOR', '1', '2', '3'),
    other('NOR', '9'),
    population('SWE', '4', '5', '6'),
    other('SWE', '8'),
  ]);
  const { series } = await readAll(worldBankCsv, { files: ['t.csv'] }, memoryUpstream({ 't.csv': csv }));
  expect([...series.keys()]).toEqual(['SP.POP.TOTL', 'SP.RUR']);
  expect(series.get('SP.RUR')?.rows.filter((row) => row.value !== null)).toEqual([
    { place: 'NOR', year: '2022', value: '9' },
    { place: 'SWE', year: '2022', value: '8' },
  ]);
});

it('never mixes editions: the first listed file with a series owns it', async () => {
  const upstream = memoryUpstream({
    'new.zip': zipped(download([population('NOR', '', '', '3')], '2025-01-01')),
    'old.zip': zipped(download([population('NOR', '1', '2', '99')], '2017-01-01')),
    index: '# newest first\nnew.zip\n\nold.zip\n',
  });
  const { series, failed, vintage } = await readAll(worldBankCsv, { index: 'index' }, upstream);
  expect(failed.size).toBe(0);
  expect(series.get('SP.POP.TOTL')?.rows.map((row) => row.value)).toEqual([null, null, '3']);
  expect(vintage).toBe('2025-01-01');
});

it('separates another database by suffix, and keeps a country that occurs twice', async () => {
  const csv = download([population('ROU', '1', '2', '3'), population('ROU', '4', '5', '6')]);
  const name = NAME.replace('DS2', 'DS57');
  const upstream = memoryUpstream({ 'a.zip': zipped(csv, name) });
  const { series } = await readAll(worldBankCsv, { files: ['a.zip'] }, upstream);
  const values = series.get('SP.POP.TOTL.DS57')?.rows.map((row) => row.value);
  expect(values).toEqual([...'123456']);
});

it('requests the download route once per code', async () => {
  const good = zipped(download([population('NOR', '1', '2', '3')]));
  const upstream = memoryUpstream({ 'en/indicator/SP.POP.TOTL': good });
  const reference = 'en/indicator/{code}?downloadformat=csv';
  const codes = ['SP.POP.TOTL', 'NO.SUCH'];
  const { series, failed } = await readAll(worldBankCsv, { download: { reference, codes } }, upstream);
  expect(upstream.requested).toContain('en/indicator/SP.POP.TOTL?downloadformat=csv');
  expect([...series.keys()]).toEqual(['SP.POP.TOTL']);
  expect(failed.get('NO.SUCH')).toContain('404');
});

const whole = zipped(download([population('NOR', '1', '2', '3')]));
const cutRow = zipped(download([population('NOR', '1', '2', '3')]).slice(0, -12));
const twoTables = zipOf(['a.csv', 'b.csv'].map((name) => ({ name, body: '' })));
const bomb = zipOf([{ name: NAME, body: Buffer.alloc(9_000_000) }]);
const otherColumn = zipped(download([], '2025-01-01', ['2020', 'Flag']));
it.each([
  ['an HTML page', Buffer.from('<html>Service unavailable</html>'), 'HTML'],
  ['an empty file', Buffer.alloc(0), 'empty'],
  ['a refusal', Buffer.from('[{"message":[]}]'), 'not a download'],
  ['a truncated zip', whole.subarray(0, 300), 'End of central'],
  ['a zip bomb', bomb, 'to 9000000, more than 250 times'],
  ['an archive with two tables', twoTables, 'one table'],
  ['another layout', zipped('Place,Year,Value\nNOR,2020,1\n'), 'not a World Bank download'],
  ['a truncated row', cutRow, 'Quote Not Closed'],
  ['no rows', zipped(download([])), 'no rows'],
  ['an unknown column', otherColumn, 'unexpected column "Flag"'],
])('%s fails its own indicator and no other', async (_, bytes, reason) => {
  const upstream = memoryUpstream({ 'good.zip': whole, 'API_BAD.CODE_DS2_en_csv_v2_2.zip': bytes });
  const files = ['good.zip', 'API_BAD.CODE_DS2_en_csv_v2_2.zip'];
  const { series, failed } = await readAll(worldBankCsv, { files }, upstream);
  expect([...series.keys()]).toEqual(['SP.POP.TOTL']);
  expect([...failed.values()]).toHaveLength(1);
  expect([...failed.values()][0]).toContain(reason);
});

it('fails when the definition lists no files', async () => {
  await expect(readAll(worldBankCsv, {}, memoryUpstream({}))).rejects.toThrow('lists no files');
});

it.each([
  ['GDP (current US$)', 'current US$'],
  ['Unemployment, total (% of total labor force) (modeled ILO estimate)', '% of total labor force'],
  ['External debt stocks, total (DOD, current US$)', 'current US$'],
  ['Maternal mortality ratio (modeled estimate, per 100,000 live births)', 'per 100,000 live births'],
  ['GDP per capita, PPP (current international $)', 'current international $'],
  ['Poverty headcount ratio at $3.00 a day (2021 PPP) (% of population)', '% of population'],
  ['Multidimensional poverty index, children (population ages 0-17) (scale 0-1)', 'scale 0-1'],
  ['School enrollment, primary (gross), gender parity index (GPI)', null],
  ['Population, total', null],
])('finds the unit in "%s"', (name, unit) => {
  expect(unitFromName(name)).toBe(unit);
});
