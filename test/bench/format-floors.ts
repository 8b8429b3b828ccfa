/**
 * The floors of output formats: the cheapest programs that write the same rows, which they hold in memory, and without HTTP.
 * Run as a process, with one thread, like the gateway.
 *
 *   copy   DuckDB's COPY of a table in memory to a file
 *   arrow  apache-arrow alone: numbers that are vectors already, and text, which its builder encodes
 *   zip    yazl over the sheet of a workbook of the gateway: whoever writes a workbook compresses its sheet
 */
import { buffer } from 'node:stream/consumers';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { Bool, Float64, Int32, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import * as yauzl from 'yauzl';
import { ZipFile } from 'yazl';
import {
  ANSWER,
  type FloorSeries,
  type Preparation,
  USUAL_COLUMNS,
  type Work,
  type Writing,
} from './format-questions.ts';

const TABLE_SQL = `
  CREATE TABLE ${ANSWER} (indicator VARCHAR, iso3 VARCHAR, year INTEGER, value DOUBLE, ci_lo DOUBLE, ci_hi DOUBLE, rank INTEGER,
    projected BOOLEAN, unit VARCHAR, licence VARCHAR, licence_url VARCHAR, attribution VARCHAR)`;
const INSERT_SQL = `
  INSERT INTO ${ANSWER} SELECT $id, iso3, year, value, ci_lo, ci_hi, rank, projected, $unit, $licence, $licence_url, $attribution
  FROM read_parquet($file)`;

type Write = () => Promise<unknown>;

interface Prepared {
  rows: number;
  write: Write;
}

async function tableOf(series: FloorSeries[]): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run(TABLE_SQL);
  const insert = await connection.prepare(INSERT_SQL);
  for (const one of series) {
    insert.bind({ ...one });
    await insert.run();
  }
  return connection;
}

async function preparedCopy({
  series,
  query,
  options,
  file,
}: Preparation & { kind: 'copy' }): Promise<Prepared> {
  const connection = await tableOf(series);
  const counted = await connection.runAndReadAll(`SELECT count(*)::INTEGER FROM (${query})`);
  const write = () => connection.run(`COPY (${query}) TO '${file}' (${options})`);
  return { rows: Number(counted.getRows()[0]?.[0]), write };
}

async function preparedArrow(series: FloorSeries[]): Promise<Prepared> {
  const connection = await tableOf(series);
  const read = await connection.runAndReadAll(`SELECT ${USUAL_COLUMNS} FROM ${ANSWER}`);
  const columns = read.getColumnsObjectJS();
  const cells = <Cell>(name: string): Cell[] => (columns[name] ?? []) as Cell[];
  const integers = (name: string) => vectorFromArray(cells<number | null>(name), new Int32());
  const doubles = (name: string) => vectorFromArray(cells<number | null>(name), new Float64());
  const [indicator, iso3] = [cells<string>('indicator'), cells<string>('iso3')];
  const numbers = {
    year: integers('year'),
    value: doubles('value'),
    ci_lo: doubles('ci_lo'),
    ci_hi: doubles('ci_hi'),
    rank: integers('rank'),
    projected: vectorFromArray(cells<boolean>('projected'), new Bool()),
  };
  const text = (values: string[]) => vectorFromArray(values, new Utf8());
  const write = async () =>
    tableToIPC(new Table({ indicator: text(indicator), iso3: text(iso3), ...numbers }), 'stream');
  return { rows: indicator.length, write };
}

const SHEET = 'xl/worksheets/sheet1.xml';

async function preparedZip(workbook: Buffer): Promise<Prepared> {
  const zip = await yauzl.fromBufferPromise(workbook, { lazyEntries: true });
  let sheet = Buffer.alloc(0);
  for await (const entry of zip.eachEntry())
    if (entry.fileName === SHEET) sheet = await buffer(await zip.openReadStreamPromise(entry));
  const rows = sheet.toString('latin1').split('<row>').length - 2;
  const write = async () => {
    const made = new ZipFile();
    made.addBuffer(sheet, SHEET);
    made.end();
    await buffer(made.outputStream);
  };
  return { rows, write };
}

function prepared(asked: Preparation): Promise<Prepared> {
  if (asked.kind === 'copy') return preparedCopy(asked);
  if (asked.kind === 'arrow') return preparedArrow(asked.series);
  return preparedZip(Buffer.from(asked.workbook, 'base64'));
}

async function timed(write: Write, times: number): Promise<Work> {
  const started = performance.now();
  const cpu = process.cpuUsage();
  for (let time = 0; time < times; time += 1) await write();
  const { user, system } = process.cpuUsage(cpu);
  return { elapsed_ms: performance.now() - started, cpu_ms: (user + system) / 1000 };
}

let write: Write = () => Promise.reject(new Error('nothing was prepared'));

process.on('message', async (question: Preparation | Writing) => {
  if ('times' in question) {
    process.send?.(await timed(write, question.times));
    return;
  }
  const made = await prepared(question);
  write = made.write;
  process.send?.(made.rows);
});
process.on('disconnect', () => process.exit());
