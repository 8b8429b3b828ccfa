/**
 * Part of the bench: rows a second in each output format, beside the cheapest program that writes the same rows.
 * Indicators are in memory, answers are not compressed, and the client reads as fast as they come.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { FORMATS } from '../../gateway/api/encoders/encoders.ts';
import { xlsx } from '../../gateway/api/encoders/tables/xlsx.ts';
import { type FormatAnswer, type FormatAnswers, formatAnswers } from './format-answers.ts';
import { ANSWER, type Preparation, USUAL_COLUMNS, type Work, type Writing } from './format-questions.ts';
import { fetchWhole } from './http-client.ts';
import { forkTask, type Gateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import { MEMORY_FILES } from './scratch.ts';
import type { Session } from './session.ts';

const AT_LEAST = 0.7;
const ROUNDS = 5;
/** Short answers are repeated until a round has as many observations as the long one, so that code is compiled as well. */
const PER_ROUND = 1_000_000;

interface Bench {
  session: Session;
  key: string;
  /** The edition that answers. */
  edition: string;
  /** Where floors write. */
  file: string;
  answers: FormatAnswers;
}

export async function formatRows(session: Session): Promise<(Row | Skipped)[]> {
  const snapshot = await session.snapshot();
  const customer = await session.customer();
  session.say('formats: counting rows');
  const answers = await countedAnswers(session);
  const file = join(existsSync(MEMORY_FILES) ? MEMORY_FILES : tmpdir(), `almanac-bench-${process.pid}`);
  const bench: Bench = { session, key: customer.key, edition: basename(snapshot.dir), file, answers };
  const { one, middle, long, wide } = answers;
  const rows: (Row | Skipped)[] = [];
  for (const format of FORMATS) {
    const longest = format === xlsx.name ? middle : long;
    rows.push(...(await compareAll(bench, [one, longest], [format])));
  }
  rows.push(...(await compareAll(bench, [wide], ['csv', 'parquet'])));
  return rows;
}

async function countedAnswers(session: Session): Promise<FormatAnswers> {
  await using gateway = await session.gateway();
  return await formatAnswers(gateway, await session.customer(), await session.snapshot());
}

/** A failure skips only its own row. */
async function compareAll(
  bench: Bench,
  answers: readonly FormatAnswer[],
  formats: readonly string[],
): Promise<(Row | Skipped)[]> {
  await using gateway = await bench.session.gateway();
  const rows: (Row | Skipped)[] = [];
  for (const answer of answers) {
    for (const format of formats) {
      const name = `${format}, ${answer.name}`;
      bench.session.say(name);
      const row = await compare(bench, gateway, format, answer).catch((error: Error): Skipped => {
        return { name, skipped: `failed: ${error.message}`, failed: true };
      });
      rows.push(row);
    }
  }
  return rows;
}

const timesOf = ({ observations }: FormatAnswer, wanted: number): number =>
  Math.max(1, Math.round(wanted / observations));

/** The gateway and a floor write the answer in turn. */
async function compare(bench: Bench, gateway: Gateway, format: string, answer: FormatAnswer): Promise<Row> {
  const times = timesOf(answer, PER_ROUND);
  await using floor = forkTask(new URL('format-floors.ts', import.meta.url));
  const { name, preparation } = await floorOf(bench, gateway, format, answer);
  const written = await floor.ask<Preparation, number>(preparation);
  if (written !== answer.rows) throw new Error(`the floor writes ${written} rows, not ${answer.rows}`);
  const contestants = [
    { works: [] as Work[], work: () => ask(bench, gateway, format, answer, times) },
    { works: [] as Work[], work: () => floor.ask<Writing, Work>({ times }) },
  ];
  for (const { work } of contestants) await work();
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { works, work } of round % 2 === 0 ? contestants : contestants.toReversed())
      works.push(await work());
  const [measured, least] = contestants.map(({ works }): Row['measured'] => ({
    unit: 'rows/s',
    rounds: works.map(({ elapsed_ms }) => (times * answer.rows * 1000) / elapsed_ms),
    cpu_us: (works.reduce((sum, { cpu_ms }) => sum + cpu_ms, 0) * 1000) / (times * ROUNDS),
  }));
  await rm(bench.file, { force: true });
  if (measured === undefined || least === undefined) throw new Error('nothing was compared');
  return {
    name: `${format}, ${answer.name}`,
    measured,
    floor: { name, sample: least },
    goal: { at: 'least', bound: AT_LEAST },
  };
}

/** Asks for the answer so often, one call after the other. */
async function ask(
  { session }: Bench,
  gateway: Gateway,
  format: string,
  answer: FormatAnswer,
  times: number,
): Promise<Work> {
  const paths = Array.from({ length: times }, () => pathOf(answer, format));
  const before = await gateway.cpu();
  const { duration_ms } = await session.ask(gateway, paths);
  const after = await gateway.cpu();
  return { elapsed_ms: duration_ms, cpu_ms: (after ?? Number.NaN) - (before ?? Number.NaN) };
}

const pathOf = ({ path }: FormatAnswer, format: string): string => `${path}&format=${format}`;

const COPY_OPTIONS: Readonly<Record<string, string>> = {
  json: 'FORMAT json, ARRAY true',
  csv: 'FORMAT csv',
  ndjson: 'FORMAT json',
  parquet: 'FORMAT parquet',
  'sdmx-csv': 'FORMAT csv',
};

async function floorOf(
  { key, edition, file }: Bench,
  gateway: Gateway,
  format: string,
  answer: FormatAnswer,
): Promise<{ name: string; preparation: Preparation }> {
  const { series, query } = answer;
  if (format === 'arrow') return { name: 'apache-arrow alone', preparation: { kind: 'arrow', series } };
  if (format === xlsx.name) {
    const call = { path: pathOf(answer, format), headers: { authorization: `Bearer ${key}` } };
    const { body } = await fetchWhole(gateway.port, call);
    return { name: 'yazl, the same sheet', preparation: { kind: 'zip', workbook: body.toString('base64') } };
  }
  const options = COPY_OPTIONS[format];
  if (options === undefined) throw new Error(`${format} has no floor`);
  const rows = format === 'sdmx-csv' ? messageQuery(edition) : query;
  return { name: 'DuckDB COPY', preparation: { kind: 'copy', series, query: rows, options, file } };
}

/** The columns of an SDMX-CSV message. */
const messageQuery = (edition: string): string =>
  `SELECT 'dataflow' AS STRUCTURE, 'ALMANAC:OBSERVATIONS(1.0.0)' AS STRUCTURE_ID, 'I' AS ACTION, ${USUAL_COLUMNS}, ` +
  `unit, licence, licence_url, attribution, '${edition}' AS EDITION FROM ${ANSWER}`;
