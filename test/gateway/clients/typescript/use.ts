/**
 * Calls a service through the client that `openapi-typescript` and `openapi-fetch` make of its description, and prints what
 * it was told. Compiled strictly: nothing here asserts a type.
 */
import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';

type Schemas = components['schemas'];

const [, , baseUrl = '', key = '', indicator = '', other = ''] = process.argv;
const authorization = `Bearer ${key}`;
const json = createClient<paths, 'application/json'>({ baseUrl, headers: { authorization } });
const csv = createClient<paths, 'text/csv'>({ baseUrl, headers: { authorization } });
const parquet = createClient<paths, 'application/vnd.apache.parquet'>({
  baseUrl,
  headers: { authorization },
});
const stranger = createClient<paths, 'application/json'>({
  baseUrl,
  headers: { authorization: 'Bearer none' },
});

function told<Answer>(data: Answer | undefined): Answer {
  if (data === undefined) throw new Error('no answer');
  return data;
}

const isPriceOnly = (
  answer: Schemas['GetDataAnswer'] | Schemas['DryRunAnswer'],
): answer is Schemas['DryRunAnswer'] => 'price' in answer.data;

type Query = NonNullable<paths['/v1/data']['get']['parameters']['query']>;
type Shape = Schemas['GetDataAnswer'];

const isUsual = (answer: Shape): answer is Schemas['ObservationsAnswer'] =>
  !('fields' in answer.meta || 'indicators' in answer.meta || answer.meta.layout === 'wide');
const isSeveral = (answer: Shape): answer is Schemas['SeveralIndicatorsAnswer'] =>
  'indicators' in answer.meta && !('fields' in answer.meta || answer.meta.layout === 'wide');
const isChosen = (answer: Shape): answer is Schemas['ChosenColumnsAnswer'] => 'fields' in answer.meta;
const isWide = (answer: Shape): answer is Schemas['WideAnswer'] => answer.meta.layout === 'wide';

/** The answer in the shape that was asked for. */
async function observations<Wanted extends Shape>(
  query: Query,
  isWanted: (answer: Shape) => answer is Wanted,
): Promise<Wanted> {
  const answer = told((await json.GET('/v1/data', { params: { query } })).data);
  if (isPriceOnly(answer) || !isWanted(answer)) throw new Error('another shape');
  return answer;
}

async function figures() {
  const countries = 'KEN,DEU';
  const indicators = `${indicator},${other}`;
  const usual = await observations({ indicator, countries }, isUsual);
  const several = await observations({ indicators, countries }, isSeveral);
  const chosen = await observations({ indicator, countries, fields: 'name,value' }, isChosen);
  const wide = await observations({ indicators, layout: 'wide' }, isWide);
  return {
    rows: usual.data.map(({ iso3, year, value }) => [iso3, year, value]),
    attribution: usual.meta.attribution,
    several: several.data.map((row) => [row.indicator, row.iso3, row.year, row.value]),
    chosen: chosen.data.map(({ name, value }) => [name, value]),
    wide: wide.data.map((row) => [row.iso3, row.year, row[indicator] ?? null]),
  };
}

async function failures() {
  const unknown = await json.GET('/v1/data', { params: { query: { indicator: 'none.such' } } });
  const invalid = await json.GET('/v1/data', { params: { query: { indicator, latest: 0 } } });
  const dear = await json.GET('/v1/data', { params: { query: { indicator, max_credits: 1 } } });
  const refused = await stranger.GET('/v1/ping');
  const codeOf = (error: Schemas['ErrorAnswer'] | Schemas['InvalidAnswer'] | undefined) =>
    error === undefined || 'detail' in error ? null : error.error.code;
  const detail = invalid.error !== undefined && 'detail' in invalid.error ? invalid.error.detail : [];
  return {
    errors: [unknown, dear, refused].map(({ error, response }) => [response.status, codeOf(error)]),
    invalid: detail.map(({ loc, type }) => [...loc, type]),
  };
}

async function catalogue() {
  const list = told(
    (await json.GET('/v1/indicators', { params: { query: { limit: 3, featured: true } } })).data,
  );
  const path = { indicator_id: indicator };
  const first = await json.GET('/v1/indicators/{indicator_id}', { params: { path } });
  const header = { 'If-None-Match': first.response.headers.get('etag') ?? '' };
  const again = await json.GET('/v1/indicators/{indicator_id}', { params: { path, header } });
  return {
    indicators: list.data.map(({ id }) => id),
    detail: [told(first.data).data.name, told(first.data).data.related.length],
    again: again.response.status,
  };
}

async function priced() {
  const query = { indicator, dry_run: true };
  const answer = told((await json.GET('/v1/data', { params: { query } })).data);
  if (!isPriceOnly(answer)) throw new Error('more than the price');
  const claim = [`${indicator},KEN,2020,1`, `${indicator},DEU,2020,2`];
  const verdicts = told((await json.GET('/v1/verify', { params: { query: { claim } } })).data);
  const ranking = await json.GET('/v1/rankings/{indicator}', { params: { path: { indicator } } });
  return {
    price: answer.data.price,
    verdicts: 'price' in verdicts.data ? [] : verdicts.data.map(({ verdict }) => verdict),
    charged: Number(ranking.response.headers.get('x-credits-charged')),
  };
}

/** Its size, and how it begins. */
async function file() {
  const path = { indicator_id: indicator };
  const parseAs = 'arrayBuffer';
  const whole = await parquet.GET('/v1/files/{indicator_id}.parquet', { params: { path }, parseAs });
  const header = { Range: 'bytes=0-3' };
  const part = await parquet.GET('/v1/files/{indicator_id}.parquet', { params: { path, header }, parseAs });
  const start: ArrayBuffer = told(part.data);
  return { file: [told(whole.data).byteLength, new TextDecoder().decode(start), part.response.status] };
}

const text = await csv.GET('/v1/data', {
  params: { query: { indicator, format: 'csv' } },
  parseAs: 'text',
});
const lines: string[] = told(text.data).split('\r\n');

console.log(
  JSON.stringify({
    ...(await catalogue()),
    ...(await figures()),
    ...(await priced()),
    ...(await failures()),
    ...(await file()),
    csv: lines,
  }),
);
