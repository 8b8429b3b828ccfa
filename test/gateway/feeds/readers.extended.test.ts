/**
 * One feed link, read by the software that people have: LibreOffice keeps a sheet up to date over a night that revises
 * figures; pandas, R, DuckDB and curl get the rows of `/v1/data`.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { useDirectory } from '../../after-tests.ts';
import { World } from '../../build/world.ts';
import { HTTP_READERS, installPackages, pythonPath } from '../../python-packages.ts';
import { herd } from '../edition-story.ts';
import { type TestKey, useService } from '../service.ts';
import { LinkedSheet } from './libreoffice.ts';

const READER = join(import.meta.dirname, 'read_feed.py');
const CALL = '/v1/data?indicator=atlas.cows&countries=FRA,DEU&fields=iso3,name,year,value,unit';
/** Held back by no gate. */
const GATES = { gates: { max_row_drop: 1, max_country_drop: 1 } };
const R_ROWS = `
rows <- read.csv(commandArgs(TRUE), na.strings = "", check.names = FALSE)
columns <- c(list(names(rows)), lapply(seq_len(nrow(rows)), function(at) unname(as.list(rows[at, ]))))
cat(jsonlite::toJSON(columns, auto_unbox = TRUE, digits = NA, na = "null"))`;

type Cell = string | number | null;

const run = promisify(execFile);
const printed = async (command: string, ...values: string[]): Promise<string> =>
  (await run(command, values)).stdout;
const python =
  (reader: string) =>
  async (url: string): Promise<Cell[][]> =>
    JSON.parse(
      await printed('env', `PYTHONPATH=${pythonPath(HTTP_READERS)}`, 'python3', READER, reader, url),
    );

/** Cells as text, as a sheet and a CSV have them. */
const texts = (rows: readonly (readonly Cell[])[]): string[][] =>
  rows.map((row) => row.map((cell) => (cell === null ? '' : String(cell))));
const linesOf = (csv: string): string[][] =>
  csv
    .replace(/^\uFEFF/, '')
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => line.split(','));

await installPackages(HTTP_READERS);
const world = await World.use({ atlas: GATES });
await publish(51, 52, 53);
const service = await useService({ snapshots: world.settings.SNAPSHOT_DIR });
const owner = await service.account();

/** A night whose figures are these. */
async function publish(...values: number[]): Promise<void> {
  await world.publish('atlas', { cows: herd(...values) });
  const { status } = await world.ingest('atlas');
  expect(status).not.toBe('suspicious');
  await world.build();
  world.tomorrow();
}

async function makeFeed({ key }: TestKey): Promise<{ url: string; price: number }> {
  const body = JSON.stringify({ name: 'Cows', query: CALL, format: 'csv', monthly_cap: 500 });
  const headers = { 'content-type': 'application/json' };
  const { json } = await service.get('/v1/feeds', { method: 'POST', key, headers, body });
  return { url: service.url + new URL(json.data.url).pathname, price: json.data.price };
}

/** The rows of the call as they are now, paid by somebody else, with their columns. */
async function served(): Promise<Cell[][]> {
  const { key } = await service.account();
  const { data } = (await service.get(CALL, { key })).json;
  return [Object.keys(data[0]), ...data.map((row: Record<string, Cell>) => Object.values(row))];
}

describe('a linked sheet of LibreOffice', async () => {
  const sheet = await LinkedSheet.prepare(await useDirectory());

  test('shows the figures, and those of the next edition once it is refreshed: each paid once', async () => {
    const { url, price } = await makeFeed(owner);
    const before = await service.balance(owner);
    const first = texts(await served());
    expect(await sheet.rows('LinkSheet', url)).toEqual(first);
    expect(await sheet.rows('RefreshSheet')).toEqual(first);
    expect(before - (await service.balance(owner))).toBe(price);
    await publish(51, 52.5, 53);
    await service.snapshots.check();
    const second = texts(await served());
    expect(second).not.toEqual(first);
    expect(await sheet.rows('RefreshSheet')).toEqual(second);
    expect(before - (await service.balance(owner))).toBe(2 * price);
  });
});

describe('the rows of /v1/data are read from the link, which is paid once, by', () => {
  let url: string;
  beforeAll(async () => {
    ({ url } = await makeFeed(owner));
    await service.get(new URL(url).pathname);
  });

  test.each<[string, (url: string) => Promise<Cell[][]>]>([
    ['pandas', python('pandas')],
    ['DuckDB', python('duckdb')],
    ['R', async (link) => JSON.parse(await printed('Rscript', '-e', R_ROWS, link))],
    ['curl', async (link) => linesOf(await printed('curl', '--fail', '--silent', '--show-error', link))],
  ])('%s', async (_reader, read) => {
    const balance = await service.balance(owner);
    expect(texts(await read(url))).toEqual(texts(await served()));
    expect(await service.balance(owner)).toBe(balance);
  });
});
