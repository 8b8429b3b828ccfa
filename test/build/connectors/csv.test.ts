/** CSV as batches of rows: cells arrive unchanged, and a damaged file is an error. */
import { describe, expect, it } from 'vitest';
import { type CsvOptions, detectDelimiter, openCsv } from '../../../build/connectors/csv.ts';
import { memoryUpstream } from './read-connector.ts';

async function rowsOf(text: string | Uint8Array, options: CsvOptions = {}): Promise<string[][]> {
  const table = await openCsv(await memoryUpstream({ f: text }).stream('f'), options);
  const rows = [table.header];
  for await (const batch of table.batches) rows.push(...batch);
  return rows;
}

describe('openCsv', () => {
  it('reads header and rows with any chunks, line ends, quotes and byte order mark', async () => {
    const text = '\uFEFF"Country, name",Year,"a ""quoted"" cell"\r\n"Côte\nd’Ivoire",2000,1.50\r\n\r\n,,\r\n';
    expect(await rowsOf(text)).toEqual([
      ['Country, name', 'Year', 'a "quoted" cell'],
      ['Côte\nd’Ivoire', '2000', '1.50'],
      ['', '', ''],
    ]);
  });

  it('reads a file without a final line break, and a header alone', async () => {
    expect(await rowsOf('a,b\n1,2')).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
    expect(await rowsOf('a,b')).toEqual([['a', 'b']]);
  });

  it.each([
    ['a;b;c', ';'],
    ['a\tb', '\t'],
    ['a|b|"x,y,z"', '|'],
    ['only', ','],
    ['"a;b;c",d', ','],
  ])('detects the delimiter of %j', (header, delimiter) => {
    expect(detectDelimiter(header)).toBe(delimiter);
  });

  it('names the columns of a file without a header', async () => {
    expect(await rowsOf('1,2\n3,4\n', { header: false })).toEqual([
      ['column1', 'column2'],
      ['1', '2'],
      ['3', '4'],
    ]);
  });

  it.each([
    ['an empty file', ''],
    ['a row that is too short', 'a,b,c\n1,2,3\n4,5'],
    ['a row that is too long', 'a,b\n1,2,3\n'],
    ['an unclosed quote', 'a,b\n1,"2\n3,4\n'],
  ])('rejects %s', async (_name, text) => {
    await expect(rowsOf(text)).rejects.toThrow(Error);
  });

  it('rejects an endless header', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield Buffer.alloc(65_536, 'x');
    }
    await expect(openCsv(endless())).rejects.toThrow('no line break in the first megabyte');
  });

  it('propagates upstream errors, and closes the upstream when the reader stops early', async () => {
    let closed = false;
    async function* upstream(fails: boolean): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from('a,b\n1,2\n');
        if (fails) throw new Error('connection reset');
        for (;;) yield Buffer.from('3,4\n');
      } finally {
        closed = true;
      }
    }
    const failing = await openCsv(upstream(true));
    await expect(
      (async () => {
        for await (const _batch of failing.batches);
      })(),
    ).rejects.toThrow('connection reset');
    closed = false;
    const endless = await openCsv(upstream(false));
    for await (const _batch of endless.batches) break;
    expect(closed).toBe(true);
  });
});
