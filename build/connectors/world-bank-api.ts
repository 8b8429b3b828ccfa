/**
 * The World Bank's Indicators API, version 2, as JSON.
 *
 * Per indicator: its description, its licence, then its values page by page. Guarantees: a series is complete or
 * failed, for the pages must advance one by one, no page may repeat the one before, and together they must hold the
 * total that the API announces; null values stay rows; a refusal that comes as HTTP 200 is a refusal; the API's
 * throttling, which comes as HTTP 400, is waited out a bounded number of times. The edition is the newest date that any
 * answer names.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import type { Connector, ConnectorContext, RawObservation, SourceItem } from './connector.ts';
import { getText, isNotFound, isObject, ResponseError, readJson } from './json-body.ts';
import { codeToSlug } from './plain-text.ts';
import { readParts } from './provider-parts.ts';

export const worldBankApiSettings = z.strictObject({
  /** Codes as the World Bank writes them. Default: every indicator of the database. */
  indicators: z.array(z.string()).min(1).optional(),
  /** The database: 2 is the World Development Indicators. */
  source_id: z.int().default(2),
  /** Rows a page; the API allows up to 32,500. */
  per_page: z.int().min(1).max(32_500).default(20_000),
  /** A year or a range, `1960:2030`. Default: everything. */
  date: z
    .string()
    .regex(/^\d{4}(:\d{4})?$/)
    .optional(),
  /** Asks for the licence and the unit of each series, which only the metadata route knows. */
  series_metadata: z.boolean().default(true),
  /** `obs_status` texts that mark a forecast. */
  forecast_status: z.array(z.string()).default(['F', 'forecast', 'projected', 'projection']),
  /** The API says "slow down" with HTTP 400: so often is asked again, after so long and then twice as long. */
  throttle: z
    .strictObject({
      attempts: z.int().min(1).default(5),
      wait_ms: z.number().min(0).default(2_000),
    })
    .prefault({}),
});
export type WorldBankApiSettings = z.infer<typeof worldBankApiSettings>;
type Context = ConnectorContext<WorldBankApiSettings>;

const HTTP_BAD_REQUEST = 400;
const LONGEST_PAGING = 10_000;

const isThrottled = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && error.status === HTTP_BAD_REQUEST;

async function ask(context: Context, reference: string): Promise<unknown> {
  const { attempts, wait_ms } = context.settings.throttle;
  for (let attempt = 1; ; attempt += 1) {
    context.signal.throwIfAborted();
    try {
      return await readJson(context.upstream, reference);
    } catch (error) {
      if (!isThrottled(error) || attempt >= attempts) throw error;
      const pause_ms = wait_ms * 2 ** (attempt - 1);
      context.log.info({ reference, attempt, pause_ms }, 'throttled with HTTP 400');
      await wait(pause_ms, undefined, { signal: context.signal });
    }
  }
}

function referenceOf(path: string, query: Record<string, string | number | undefined>): string {
  const parameters = new URLSearchParams({ format: 'json' });
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return `${path}?${parameters}`;
}

/** Refuses a page that does not advance. */
function checkAdvance(page: Page, number: number, before: Page | null, reference: string): void {
  if (page.paging.page !== number) {
    throw new ResponseError(`${reference}: asked for page ${number} and got page ${page.paging.page}`);
  }
  const repeated =
    before !== null &&
    page.rows.length > 0 &&
    JSON.stringify(page.rows[0]) === JSON.stringify(before.rows[0]);
  if (repeated) throw new ResponseError(`${reference}: page ${number} repeats the page before`);
}

/**
 * All pages of one list.
 * @throws {ResponseError} when the paging does not advance or gives another number of rows than it announces.
 */
async function* pagesOf(
  context: Context,
  path: string,
  query: Record<string, string | number | undefined>,
): AsyncGenerator<Page & { reference: string }, void, undefined> {
  let before: Page | null = null;
  let given = 0;
  for (let number = 1; number <= LONGEST_PAGING; number += 1) {
    const reference = referenceOf(path, { ...query, per_page: context.settings.per_page, page: number });
    const page = decodePage(await ask(context, reference), reference);
    if (page.paging.pages === 0 && page.rows.length === 0) {
      yield { ...page, reference };
      return;
    }
    checkAdvance(page, number, before, reference);
    given += page.rows.length;
    yield { ...page, reference };
    if (number >= page.paging.pages) {
      if (given === page.paging.total) return;
      throw new ResponseError(`${path}: ${given} rows came of ${page.paging.total} announced`);
    }
    before = page;
  }
  throw new ResponseError(`${path}: more than ${LONGEST_PAGING} pages`);
}

function entryOf(description: unknown, code: string): CatalogueEntry {
  const name = getText(description, 'name') ?? code;
  const topics = isObject(description) && Array.isArray(description.topics) ? description.topics : [];
  return {
    slug: codeToSlug(code),
    name,
    description: getText(description, 'sourceNote'),
    unit: getText(description, 'unit') ?? unitFromName(name),
    source: getText(description, 'sourceOrganization'),
    source_url: `https://data.worldbank.org/indicator/${encodeURIComponent(code)}`,
    tags: topics.map((topic) => getText(topic, 'value')).filter((topic) => topic !== null),
    licence: null,
  };
}

interface Series {
  code: string;
  entry: CatalogueEntry;
}

/** The codes that the definition lists, or all of the database with the descriptions that the list gives. */
async function listSeries(context: Context): Promise<{ code: string; description: unknown }[]> {
  const { indicators, source_id } = context.settings;
  if (indicators) return indicators.map((code) => ({ code, description: null }));
  const listed: { code: string; description: unknown }[] = [];
  for await (const { rows } of pagesOf(context, `source/${source_id}/indicator`, {})) {
    for (const description of rows) {
      const code = getText(description, 'id');
      if (code !== null) listed.push({ code, description });
    }
  }
  if (listed.length === 0) throw new ResponseError(`database ${source_id} lists no indicators`);
  return listed;
}

/**
 * What the metadata route says of a series. A service without that route says nothing, unless rules of the definition
 * look at licences: an excepted series could then get out, so failing is right.
 */
async function fetchSeriesMetadata(context: Context, code: string): Promise<unknown> {
  const { definition, settings } = context;
  const path = `sources/${settings.source_id}/series/${encodeURIComponent(code)}/metadata`;
  try {
    return await ask(context, referenceOf(path, {}));
  } catch (error) {
    const needsLicence = definition.rules.some((rule) => rule.licence !== undefined);
    if (needsLicence || !isNotFound(error)) throw error;
    return null;
  }
}

async function describe(context: Context, part: { code: string; description: unknown }): Promise<Series> {
  const { code } = part;
  const path = `indicator/${encodeURIComponent(code)}`;
  const reference = referenceOf(path, {});
  const description = part.description ?? decodePage(await ask(context, reference), reference).rows[0];
  if (!description) throw new ResponseError(`${reference}: no such indicator`);
  const entry = entryOf(description, code);
  if (!context.settings.series_metadata) return { code, entry };
  const { licence, unit } = decodeSeriesMetadata(await fetchSeriesMetadata(context, code));
  return { code, entry: { ...entry, licence, unit: unit ?? entry.unit } };
}

async function* readSeries(
  context: Context,
  { code, entry }: Series,
  seen: (edition: string) => void,
): AsyncGenerator<SourceItem, void, undefined> {
  yield { kind: 'indicator', entry };
  const forecasts = new Set(context.settings.forecast_status.map((status) => status.toLowerCase()));
  const path = `country/all/indicator/${encodeURIComponent(code)}`;
  const query = { source: context.settings.source_id, date: context.settings.date };
  for await (const { rows, paging, reference } of pagesOf(context, path, query)) {
    if (paging.lastupdated) seen(paging.lastupdated);
    yield {
      kind: 'observations',
      slug: entry.slug,
      rows: rows.map((row) => decodeRow(row, code, forecasts, reference)),
    };
  }
}

async function* read(context: Context): AsyncGenerator<SourceItem, void, undefined> {
  const parts = await listSeries(context);
  yield { kind: 'plan', indicators: parts.length };
  let vintage: string | null = null;
  const seen = (edition: string): void => {
    if (vintage === null || edition > vintage) vintage = edition;
  };
  yield* readParts(context, parts, {
    slug: (part) => codeToSlug(part.code),
    open: (part) => describe(context, part),
    slugs: (series) => [series.entry.slug],
    read: (series) => readSeries(context, series, seen),
  });
  if (vintage !== null) yield { kind: 'vintage', vintage };
}

export const worldBankApi: Connector<WorldBankApiSettings> = {
  protocol: 'world-bank-api',
  settings: worldBankApiSettings,
  read,
};

/**
 * The answers of the World Bank's API v2, decoded.
 *
 * Every answer is `[paging, rows]`. Refusals come as HTTP 200 with `[{"message": [{id, key, value}]}]`; "no data" as
 * `pages: 0` with `null` for rows; paging numbers are numbers or strings, by version and by route.
 */

const pagingSchema = z.object({
  page: z.coerce.number().int(),
  pages: z.coerce.number().int().min(0),
  total: z.coerce.number().int().min(0),
  lastupdated: z.string().nullish(),
});
export type Paging = z.infer<typeof pagingSchema>;

export interface Page {
  paging: Paging;
  rows: unknown[];
}

function refusalIn(first: unknown): string | null {
  if (!isObject(first) || !Array.isArray(first.message)) return null;
  const told = first.message.map((one) =>
    [getText(one, 'key'), getText(one, 'value')].filter(Boolean).join(': '),
  );
  return told.join('; ') || 'no reason given';
}

/**
 * Decodes one page.
 * @throws {ResponseError} for a refusal, with the API's words, and for anything that is no page.
 */
export function decodePage(answer: unknown, reference: string): Page {
  const [first, rows] = Array.isArray(answer) ? answer : [answer];
  const refusal = refusalIn(first);
  if (refusal !== null) throw new ResponseError(`${reference}: refused: ${refusal}`);
  const paging = pagingSchema.safeParse(first);
  if (!paging.success) throw new ResponseError(`${reference}: no paging in the answer`);
  if (rows !== null && rows !== undefined && !Array.isArray(rows)) {
    throw new ResponseError(`${reference}: the rows are no list`);
  }
  return { paging: paging.data, rows: rows ?? [] };
}

/** The licence and the unit that `/sources/{id}/series/{code}/metadata` states; null where it states none. */
export function decodeSeriesMetadata(answer: unknown): { licence: string | null; unit: string | null } {
  const found = new Map<string, string | null>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const one of node) visit(one);
    if (!isObject(node)) return;
    const id = getText(node, 'id');
    if (id !== null && 'value' in node)
      found.set(id.toLowerCase().replaceAll(/[^a-z]/g, ''), getText(node, 'value'));
    for (const child of ['source', 'concept', 'variable', 'metatype']) visit(node[child]);
  };
  visit(answer);
  return { licence: found.get('licensetype') ?? null, unit: found.get('unitofmeasure') ?? null };
}

/**
 * One row of values as an observation.
 * @param forecasts the `obs_status` texts that mark a forecast
 * @throws {ResponseError} when the row is of another indicator or not a row of values
 */
export function decodeRow(
  row: unknown,
  code: string,
  forecasts: ReadonlySet<string>,
  reference: string,
): RawObservation {
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
  return {
    place: getText(row, 'countryiso3code') ?? getText(row.country, 'id') ?? '',
    year: getText(row, 'date') ?? '',
    value: value === '' ? null : value,
    projected: status !== null && forecasts.has(status.toLowerCase()),
    status,
  };
}

/**
 * What the World Bank says of a series only inside its name and its topic path: the unit, and the subject words.
 */

/** Brackets that say how a figure was made, whom it covers or what a word stands for, not what it is measured in. */
const NOT_A_UNIT =
  /\bestimate\)?$|^\d{4} PPP$|^(BoP|PNG|PPG|GDP|GPI|ATMs|R&D|higher|gross|net|Overall average)$|^population ages [\d-]+$/i;
/** What stands before the unit in the same bracket: "BoP, current US$", "modeled estimate, per 100,000 live births". */
const LEADING_NOTE =
  /^(?:BoP|DOD|NFL|TDS|INT|AMT|UND|DIS|COM|includes gold|(?:modeled|national) estimate),\s*/i;

/** The top-level brackets of a name, in order: "a (b (c)) (d)" has "b (c)" and "d". */
function bracketsOf(name: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (const [at, character] of [...name].entries()) {
    if (character === '(') {
      if (depth === 0) start = at + 1;
      depth += 1;
    } else if (character === ')' && depth > 0) {
      depth -= 1;
      if (depth === 0) found.push([...name].slice(start, at).join('').trim());
    }
  }
  return found;
}

/**
 * The unit out of an indicator's name, by the World Bank's habit of bracketing it: "GDP (current US$)",
 * "Unemployment, total (% of total labor force) (modeled ILO estimate)". Null where no bracket is a unit.
 */
export function unitFromName(name: string): string | null {
  const units = bracketsOf(name).filter((text) => text !== '' && !NOT_A_UNIT.test(text));
  return units.at(-1)?.replace(LEADING_NOTE, '') || null;
}

/** "Health: Population: Structure" as the words "Health", "Population", "Structure" and the path itself. */
export function topicTags(topic: string | null): string[] {
  if (!topic) return [];
  const words = topic.split(':').map((word) => word.trim());
  return [...new Set([...words.filter((word) => word !== ''), topic.trim()])];
}
