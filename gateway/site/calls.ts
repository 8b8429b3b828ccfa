/** Calls of the API on pages: what they cost, by the rules and plans that it charges for, and their code to be copied. */
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { DOWNLOADS_PER_HOUR } from '../api/metering/metering.ts';
import {
  data,
  indicatorFile,
  type Operation,
  parameterReader,
  parseQueryString,
  priceOfRows,
  RANKING_PRICE,
  rankings,
} from '../api/operations/operations.ts';
import type { Edition } from '../api/snapshot/snapshot.ts';
import { type Filters, withQuery } from './lists.ts';
import { countRowsFor } from './series.ts';

export interface PlannedCall {
  operation: Operation;
  path?: Readonly<Record<string, string>>;
  /** As in a URL, without `?`. */
  query?: string;
}

/** `/v1/data?indicator=…` */
export function callPath({ operation, path = {}, query = '' }: PlannedCall): string {
  const resource = operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  );
  return `/v1${resource}${query === '' ? '' : `?${query}`}`;
}

interface CallCost {
  /** In credits. */
  price: number;
  rows: number;
}

/** Null for a call that would be refused. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function callCost(
  edition: Edition,
  { operation, path = {}, query = '' }: PlannedCall,
): Promise<CallCost | null> {
  const reading = parameterReader(operation.query, true)(parseQueryString(query));
  if (!reading.ok) return null;
  // No price depends on where the service is.
  const call = { snapshot: edition, path, query: reading.values, publicUrl: '' };
  const planned = await operation.plan(call);
  return planned.kind === 'plan' ? { price: planned.price, rows: planned.rows } : null;
}

/** A call with what it costs. */
interface Offer extends CallCost {
  /** Below the address of the service. */
  path: string;
}

interface Offers {
  /** All countries and years. */
  whole: Offer | null;
  /** The histories that are drawn; null without any. */
  drawn: Offer | null;
  /** The latest ranking; null for what is not ranked. */
  ranking: Offer | null;
  /** The published file, which may be read again and in parts; null where it is not there. */
  file: Offer | null;
}

/**
 * What the API gives of an indicator that may be exported. Prices of published figures follow the rules of the operations, whose
 * plans would read the whole series; those of derived ones are planned. @param codes of the places that are drawn. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable}
 */
export async function indicatorOffers(
  edition: Edition,
  record: IndicatorRecord,
  codes: string,
  derived: { transform?: string; aggregate?: string } = {},
): Promise<Offers> {
  const { id, no_rank } = record;
  const { transform, aggregate } = derived;
  const query = `indicator=${encodeURIComponent(id)}`;
  const planned = async (call: PlannedCall): Promise<Offer | null> => {
    const cost = await callCost(edition, call);
    return cost && { path: callPath(call), ...cost };
  };
  const sent = withQuery('', { countries: codes, aggregate, transform }).replace('?', '&');
  const drawn = { operation: data, query: query + sent };
  if (transform !== undefined) {
    const onAll = withQuery('', { transform }).slice(1);
    const ranking = { operation: rankings, path: { indicator: id }, query: onAll };
    return {
      whole: await planned({ operation: data, query: `${query}&${onAll}` }),
      drawn: codes === '' ? null : await planned(drawn),
      ranking: no_rank ? null : await planned(ranking),
      file: null,
    };
  }
  const whole = await edition.wholeFile(id);
  const offer = (call: PlannedCall, rows: number, price = priceOfRows(rows)): Offer => ({
    path: callPath(call),
    price,
    rows,
  });
  const rankedRows = record.coverage === null ? 0 : edition.countries.length;
  return {
    whole: whole && offer({ operation: data, query }, whole.rows),
    drawn:
      codes === ''
        ? null
        : aggregate !== undefined
          ? await planned(drawn)
          : offer(drawn, await countRowsFor(edition, record, codes.split(','))),
    ranking: no_rank
      ? null
      : offer({ operation: rankings, path: { indicator: id } }, rankedRows, RANKING_PRICE),
    file: whole && offer({ operation: indicatorFile, path: { indicator_id: id } }, whole.rows),
  };
}

/** Places of one free file. */
export const FILE_PLACES_MAX = 12;

interface FileLink {
  format: string;
  path: string;
}

interface FreeFiles {
  ranking: FileLink[] | null;
  lines: FileLink[] | null;
  /** Different ones that an address may take. */
  perHour: number;
}

/** Free files of what a page shows; null where one would be the whole series. @param codes of the countries that are drawn */
export function freeFiles(
  { id, coverage }: IndicatorRecord,
  year: number | null,
  codes: readonly string[],
): FreeFiles {
  const { yr_min = null, yr_max = null, n_countries = 0 } = coverage ?? {};
  const links = (kind: string, query: Filters): FileLink[] =>
    ['csv', 'xlsx'].map((format) => ({
      format: format.toUpperCase(),
      path: withQuery(`/indicators/${id}/${kind}.${format}`, query),
    }));
  return {
    perHour: DOWNLOADS_PER_HOUR,
    ranking: year === null || yr_min === yr_max ? null : links('ranking', { year }),
    lines:
      codes.length === 0 || codes.length >= n_countries ? null : links('lines', { countries: codes.join() }),
  };
}

const KEY = 'ALMANAC_KEY';

/** The code of one call for a language or a program. */
interface CallExample {
  name: string;
  /** What must be there or done before. */
  note: string;
  code: string;
}

/** @param json address of a call with a query that names no format */
export function callExamples(json: string): CallExample[] {
  const csv = `${json}&format=csv`;
  return [
    {
      name: 'curl',
      note: `The key is in the environment variable ${KEY}.`,
      code: `curl --header "Authorization: Bearer $${KEY}" \\\n  "${json}"`,
    },
    {
      name: 'Python',
      note: 'With pandas.',
      code: `import os
import pandas as pd

key = os.environ["${KEY}"]
data = pd.read_csv(
    "${csv}",
    storage_options={"Authorization": f"Bearer {key}"},
)`,
    },
    {
      name: 'R',
      note: 'Without packages.',
      code: `key <- Sys.getenv("${KEY}")
data <- read.csv(url(
  "${csv}",
  headers = c(Authorization = paste("Bearer", key))
))`,
    },
    {
      name: 'JavaScript',
      note: 'Node.js, as a module.',
      code: `import { env } from "node:process";

const response = await fetch(
  "${json}",
  { headers: { Authorization: \`Bearer \${env.${KEY}}\` } },
);
const { data, meta } = await response.json();`,
    },
    {
      name: 'Excel',
      note: 'Data, Get Data, Blank Query, Advanced Editor; sign in to the address as Anonymous. Put your key into the first line.',
      code: `let
  Key = "YOUR_KEY",
  Answer = Web.Contents(
    "${csv}",
    [Headers = [Authorization = "Bearer " & Key]]
  ),
  Rows = Csv.Document(Answer, [Encoding = 65001, QuoteStyle = QuoteStyle.Csv]),
  Table = Table.PromoteHeaders(Rows)
in
  Table`,
    },
    {
      name: 'DuckDB',
      note: 'In a shell.',
      code: `curl --header "Authorization: Bearer $${KEY}" \\
  "${csv}" |
  duckdb -c "FROM read_csv('/dev/stdin')"`,
    },
  ];
}
