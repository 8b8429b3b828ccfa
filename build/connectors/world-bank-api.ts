/**
 * The World Bank's Indicators API, version 2, as JSON; and the conventions of the World Bank's names.
 *
 * Every response is `[paging, rows]`. Quirks: a refusal is HTTP 200 with `[{"message": [{id, key, value}]}]`; throttling
 * is HTTP 400 and is retried a bounded number of times; "no data" is `pages: 0` with null rows; paging numbers are
 * numbers or strings. A series is complete or fails: pages must advance one by one, none may repeat the one before, and
 * together they must hold the announced total. The edition is the newest date of any response.
 *
 * The service answers with a row for every place and year, so a null value is blank unless it has a status.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { hasStatus } from '../upstream/upstream.ts';
import {
  type Connector,
  type ConnectorContext,
  getText,
  isObject,
  type RawObservation,
  ResponseError,
  readJson,
  readParts,
  type SourceItem,
} from './connector.ts';
import { citedSource, codeToSlug, sourceFields } from './plain-text.ts';

const worldBankApiSettings = z.strictObject({
  /** Codes as the World Bank writes them. Default: every indicator of the database. */
  indicators: z.array(z.string()).min(1).optional(),
  /** The database: 2 is the World Development Indicators. */
  source_id: z.int().default(2),
  /** Rows per page; the API allows up to 32,500. */
  per_page: z.int().min(1).max(32_500).default(20_000),
  /** A year or a range, `1960:2030`. Default: everything. */
  date: z
    .string()
    .regex(/^\d{4}(:\d{4})?$/)
    .optional(),
  /** Requests the licence and the unit of each series from the metadata route, which alone knows them. */
  series_metadata: z.boolean().default(true),
  /** Attempts when throttled; the wait doubles each time. */
  throttle: z
    .strictObject({
      attempts: z.int().min(1).default(5),
      wait_ms: z.number().min(0).default(2_000),
    })
    .prefault({}),
});
type WorldBankApiSettings = z.infer<typeof worldBankApiSettings>;
type Context = ConnectorContext<WorldBankApiSettings>;

/** Brackets about the method, the coverage or an abbreviation, not the unit. */
const NOT_A_UNIT =
  /\bestimate\)?$|^\d{4} PPP$|^(BoP|PNG|PPG|GDP|GPI|ATMs|R&D|higher|gross|net|Overall average)$|^population ages [\d-]+$/i;
/** Notes before the unit in the same brackets: "BoP, current US$", "modeled estimate, per 100,000 live births". */
const LEADING_NOTE =
  /^(?:BoP|DOD|NFL|TDS|INT|AMT|UND|DIS|COM|includes gold|(?:modeled|national) estimate),\s*/i;

/** The contents of the top-level brackets of a name: "a (b (c)) (d)" has "b (c)" and "d". */
function findBrackets(name: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] === '(') {
      if (depth === 0) start = at + 1;
      depth += 1;
    } else if (name[at] === ')' && depth > 0) {
      depth -= 1;
      if (depth === 0) found.push(name.slice(start, at).trim());
    }
  }
  return found;
}

/**
 * The unit in an indicator's name, where the World Bank puts it in brackets: "GDP (current US$)", "Unemployment, total
 * (% of total labor force) (modeled ILO estimate)". Null where no bracket is a unit.
 */
export function unitFromName(name: string): string | null {
  const units = findBrackets(name).filter((text) => text !== '' && !NOT_A_UNIT.test(text));
  return units.at(-1)?.replace(LEADING_NOTE, '') || null;
}

/** The words of a topic path, and the path itself: "Health: Population" has "Health", "Population" and the whole. */
export function topicTags(topic: string | null, separator: RegExp = /:/): string[] {
  if (!topic) return [];
  const words = topic.split(separator).map((word) => word.trim());
  return [...new Set([...words.filter((word) => word !== ''), topic.trim()])];
}

/** The page of an indicator for readers. */
export const indicatorPage = (code: string): string =>
  `https://data.worldbank.org/indicator/${encodeURIComponent(code)}`;

const pagingSchema = z.object({
  page: z.coerce.number().int(),
  pages: z.coerce.number().int().min(0),
  total: z.coerce.number().int().min(0),
  lastupdated: z.string().nullish(),
});

interface Page {
  paging: z.infer<typeof pagingSchema>;
  rows: unknown[];
}

function findRefusal(first: unknown): string | null {
  if (!isObject(first) || !Array.isArray(first.message)) return null;
  const reasons = first.message.map((one) =>
    [getText(one, 'key'), getText(one, 'value')].filter(Boolean).join(': '),
  );
  return reasons.join('; ') || 'no reason given';
}

/** @throws {ResponseError} for a refusal, with the API's message, and for anything that is no page. */
function parsePage(response: unknown, reference: string): Page {
  const [first, rows] = Array.isArray(response) ? response : [response];
  const refusal = findRefusal(first);
  if (refusal !== null) throw new ResponseError(`${reference}: refused: ${refusal}`);
  const paging = pagingSchema.safeParse(first);
  if (!paging.success) throw new ResponseError(`${reference}: no paging in the response`);
  if (rows !== null && rows !== undefined && !Array.isArray(rows)) {
    throw new ResponseError(`${reference}: the rows are no list`);
  }
  return { paging: paging.data, rows: rows ?? [] };
}

/** The licence, the unit and the method of aggregation in a response of `/sources/{id}/series/{code}/metadata`; null where it has none. */
function parseSeriesMetadata(response: unknown): Record<'licence' | 'unit' | 'aggregation', string | null> {
  const found = new Map<string, string | null>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const one of node) visit(one);
    if (!isObject(node)) return;
    const id = getText(node, 'id');
    if (id !== null && 'value' in node) {
      found.set(id.toLowerCase().replaceAll(/[^a-z]/g, ''), getText(node, 'value'));
    }
    for (const child of ['source', 'concept', 'variable', 'metatype']) visit(node[child]);
  };
  visit(response);
  return {
    licence: found.get('licensetype') ?? null,
    unit: found.get('unitofmeasure') ?? null,
    aggregation: found.get('aggregationmethod') ?? null,
  };
}

/** `obs_status` texts that mark a forecast. */
const FORECASTS = new Set(['f', 'forecast', 'projected', 'projection']);

/**
 * One row as an observation.
 * @throws {ResponseError} when the row is for another indicator, or is no row of values.
 */
function parseRow(row: unknown, code: string, reference: string): RawObservation {
  if (!isObject(row) || !('value' in row) || !('date' in row)) {
    throw new ResponseError(`${reference}: a row without date or value`);
  }
  const indicator = getText(row.indicator, 'id');
  if (indicator?.toUpperCase() !== code.toUpperCase()) {
    throw new ResponseError(`${reference}: a row of ${indicator ?? 'no indicator'} instead of ${code}`);
  }
  const { value } = row;
  if (value !== null && typeof value !== 'number' && typeof value !== 'string') {
    throw new ResponseError(`${reference}: a value that is neither number nor null`);
  }
  const status = getText(row, 'obs_status');
  const isBlank = (value === null || value === '') && status === null;
  return {
    place: getText(row, 'countryiso3code') ?? getText(row.country, 'id') ?? '',
    year: getText(row, 'date') ?? '',
    value: value === '' ? null : value,
    ...(isBlank && { blank: true }),
    projected: status !== null && FORECASTS.has(status.toLowerCase()),
    status,
  };
}

const MAX_PAGES = 10_000;

/** Fetches one response; retries while throttled, which is HTTP 400. */
async function fetchJson(context: Context, reference: string): Promise<unknown> {
  const { attempts, wait_ms } = context.settings.throttle;
  for (let attempt = 1; ; attempt += 1) {
    context.signal.throwIfAborted();
    try {
      return await readJson(context.upstream, reference);
    } catch (error) {
      if (!hasStatus(error, 400) || attempt >= attempts) throw error;
      const delay_ms = wait_ms * 2 ** (attempt - 1);
      context.log.info({ reference, attempt, delay_ms }, 'throttled with HTTP 400');
      await wait(delay_ms, undefined, { signal: context.signal });
    }
  }
}

type Query = Record<string, string>;

const buildReference = (path: string, query: Query = {}): string =>
  `${path}?${new URLSearchParams({ format: 'json', ...query })}`;

/**
 * All pages of one list.
 * @throws {ResponseError} when the paging does not advance, or the number of rows differs from the announced total.
 */
async function* fetchPages(
  context: Context,
  path: string,
  query: Query,
): AsyncGenerator<Page & { reference: string }, void, undefined> {
  let start: string | undefined;
  let received = 0;
  for (let number = 1; number <= MAX_PAGES; number += 1) {
    const page_query = { per_page: String(context.settings.per_page), page: String(number) };
    const reference = buildReference(path, { ...query, ...page_query });
    const { paging, rows } = parsePage(await fetchJson(context, reference), reference);
    const isEmpty = paging.pages === 0 && rows.length === 0;
    if (!isEmpty && paging.page !== number) {
      throw new ResponseError(`${reference}: asked for page ${number} and got page ${paging.page}`);
    }
    const previous = start;
    start = JSON.stringify(rows[0]);
    if (start !== undefined && start === previous) {
      throw new ResponseError(`${reference}: page ${number} repeats the page before`);
    }
    received += rows.length;
    yield { paging, rows, reference };
    if (isEmpty) return;
    if (number >= paging.pages) {
      if (received === paging.total) return;
      throw new ResponseError(`${path}: ${received} rows came of ${paging.total} announced`);
    }
  }
  throw new ResponseError(`${path}: more than ${MAX_PAGES} pages`);
}

interface ListedIndicator {
  code: string;
  /** The API's description, when the list contains it. */
  description: unknown;
}

/** The codes that the definition lists, or all indicators of the database. */
async function listIndicators(context: Context): Promise<ListedIndicator[]> {
  const { indicators, source_id } = context.settings;
  if (indicators) return indicators.map((code) => ({ code, description: null }));
  const listed: ListedIndicator[] = [];
  for await (const { rows } of fetchPages(context, `source/${source_id}/indicator`, {})) {
    for (const description of rows) {
      const code = getText(description, 'id');
      if (code !== null) listed.push({ code, description });
    }
  }
  if (listed.length === 0) throw new ResponseError(`database ${source_id} lists no indicators`);
  return listed;
}

/**
 * The response of the metadata route; null from a service without it. When rules of the definition look at licences, a
 * missing route is an error, because an excepted series could otherwise be published.
 */
async function fetchSeriesMetadata(context: Context, code: string): Promise<unknown> {
  const { definition, settings } = context;
  const path = `sources/${settings.source_id}/series/${encodeURIComponent(code)}/metadata`;
  try {
    return await fetchJson(context, buildReference(path));
  } catch (error) {
    const needsLicence = definition.rules.some((rule) => rule.licence !== undefined);
    if (needsLicence || !hasStatus(error, 404)) throw error;
    return null;
  }
}

function buildEntry(description: unknown, code: string): CatalogueEntry {
  const name = getText(description, 'name') ?? code;
  const topics = isObject(description) && Array.isArray(description.topics) ? description.topics : [];
  return {
    slug: codeToSlug(code),
    name,
    description: getText(description, 'sourceNote'),
    unit: getText(description, 'unit') ?? unitFromName(name),
    ...sourceFields([citedSource(getText(description, 'sourceOrganization'), indicatorPage(code))]),
    tags: topics.map((topic) => getText(topic, 'value')).filter((topic) => topic !== null),
    licence: null,
  };
}

async function readEntry(
  context: Context,
  { code, description: listed }: ListedIndicator,
): Promise<CatalogueEntry> {
  const reference = buildReference(`indicator/${encodeURIComponent(code)}`);
  const description = listed ?? parsePage(await fetchJson(context, reference), reference).rows[0];
  if (!description) throw new ResponseError(`${reference}: no such indicator`);
  const entry = buildEntry(description, code);
  if (!context.settings.series_metadata) return entry;
  const { licence, unit, aggregation } = parseSeriesMetadata(await fetchSeriesMetadata(context, code));
  return { ...entry, licence, unit: unit ?? entry.unit, ...(aggregation !== null && { aggregation }) };
}

async function* readSeries(context: Context, code: string, entry: CatalogueEntry): AsyncIterable<SourceItem> {
  yield { kind: 'indicator', entry };
  const path = `country/all/indicator/${encodeURIComponent(code)}`;
  const { source_id, date } = context.settings;
  const query = { source: String(source_id), ...(date !== undefined && { date }) };
  for await (const { rows, paging, reference } of fetchPages(context, path, query)) {
    if (paging.lastupdated) yield { kind: 'vintage', vintage: paging.lastupdated };
    const observations = rows.map((row) => parseRow(row, code, reference));
    yield { kind: 'observations', slug: entry.slug, rows: observations, files: [reference] };
  }
}

export const worldBankApi: Connector<WorldBankApiSettings> = {
  protocol: 'world-bank-api',
  settings: worldBankApiSettings,
  async *read(context): AsyncIterable<SourceItem> {
    const indicators = await listIndicators(context);
    yield { kind: 'plan', indicators: indicators.length };
    yield* readParts(
      context,
      indicators,
      ({ code }) => codeToSlug(code),
      async (indicator) => ({
        items: readSeries(context, indicator.code, await readEntry(context, indicator)),
      }),
    );
  },
};
