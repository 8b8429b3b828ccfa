/** `/docs` and its guides. Their Markdown is in `content/guides`; examples are those of the served edition. */
import { readFileSync } from 'node:fs';
import { ERRORS, type ErrorCode } from '../../api/core/errors.ts';
import { ENCODERS, LIST_FORMATS, xlsx } from '../../api/encoders/encoders.ts';
import {
  isPriced,
  LIMIT_MAX,
  OPERATIONS,
  type Operation,
  ROWS_MAX,
} from '../../api/operations/operations.ts';
import { type CatalogueItem, type Edition, exampleFigures } from '../../api/snapshot/snapshot.ts';
import { renderArticle } from '../markdown.ts';
import { definePage } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

/** In reading order, with what the overview and the navigation say of each. */
const GUIDES = {
  clients: ['Clients', 'For Python, TypeScript and the terminal: frames, prices, locks and receipts.'],
  agents: ['Language models', 'Tools over MCP: connecting Claude, VS Code, Cursor and others.'],
  'quick-start': [
    'Quick start',
    'A first table of figures in curl, Python, R, JavaScript, a spreadsheet and DuckDB.',
  ],
  spreadsheets: [
    'Spreadsheets and dashboards',
    'Feed links for Excel, Google Sheets, LibreOffice, Power BI and Tableau: figures that stay up to date.',
  ],
  authentication: ['Authentication', 'Keys: where they are sent, what needs one, and how to replace one.'],
  credits: [
    'Credits',
    'What costs what, the price before the call, limits, and retries that are not charged twice.',
  ],
  formats: ['Formats', 'CSV, Excel, Parquet, Arrow, NDJSON and SDMX, and how to shape a table.'],
  comparing: [
    'What may be compared with what',
    'Totals, rates, prices and groups: which figures compare, and which transform makes them comparable.',
  ],
  vintages: ['Vintages', 'Figures as they were on a day, what changed since, receipts and citations.'],
  webhooks: [
    'Webhooks',
    'Events of your account: what is sent, how it is signed, and when it is sent again.',
  ],
  errors: ['Errors', 'Every code, what it means and what to do about it.'],
  limits: ['Limits', 'Requests a minute and a day, and how much one answer holds.'],
  recipes: ['Recipes', 'Short answers to common tasks, each with a call that works.'],
} as const;

/** The navigation of all pages under `/docs`. */
export const DOCS_LINKS: readonly { href: string; title: string; summary: string }[] = [
  ...Object.entries(GUIDES).map(([slug, [title, summary]]) => ({ href: `/docs/${slug}`, title, summary })),
  {
    href: '/docs/reference',
    title: 'Reference',
    summary: 'Every call: parameters, answers, errors, and a form to try it.',
  },
];

export const docs = (facts: ServiceFacts): Operation[] => [
  definePage({
    path: '/docs',
    async show({ edition }) {
      return {
        template: 'docs.njk',
        title: 'Documentation',
        description:
          'Clients, tools for language models, guides and reference of the API: keys, credits, formats, vintages.',
        section: 'docs',
        canonical: '/docs',
        data: { links: DOCS_LINKS, current: '/docs', values: await guideValues(edition, facts) },
      };
    },
  }),
  ...Object.keys(GUIDES).map((slug) => guide(slug, facts)),
];

function guide(slug: string, facts: ServiceFacts): Operation {
  const source = readFileSync(new URL(`../content/guides/${slug}.md`, import.meta.url), 'utf8');
  const path = `/docs/${slug}`;
  return definePage({
    path,
    async show({ edition }) {
      const article = renderArticle(source, await guideValues(edition, facts));
      return {
        template: 'guide.njk',
        title: article.title,
        description: article.summary,
        section: 'docs',
        canonical: path,
        data: { article, links: DOCS_LINKS, current: path },
      };
    },
  });
}

/** What a caller does about each error. */
const ADVICE: Readonly<Record<ErrorCode, string>> = {
  bad_sort: 'use one of those',
  bad_dir: 'use one of those',
  not_rankable: 'ask for its figures with `/v1/data`',
  bad_request: 'check the client: it sent something that is not HTTP',
  unauthorized: 'send a [key](/docs/authentication)',
  invalid_key: 'check the key; create a [new one](/account/keys) if it was revoked or has expired',
  insufficient_credits:
    '[buy credits](/account/orders), raise the [limit of the key](/account/keys) where the message names one, or ask for less',
  max_credits_exceeded: 'raise your limit, or ask for less',
  key_restricted: 'call from where the key may be used, or change what is [set for it](/account/keys)',
  key_scope: 'use a key with that scope',
  export_restricted: 'look at it on its page, or take another series of the same statistic',
  not_found: 'check the path',
  country_not_found: 'look it up in [`/v1/countries`](/docs/reference/listCountries)',
  edition_not_found: 'look it up in [`/v1/editions`](/docs/reference/listEditions)',
  file_not_found: 'take the files of single indicators, or ask `/v1/data`',
  figure_not_found: 'ask for a country and year that `/v1/data` has',
  not_in_edition:
    'ask for a later snapshot: those from before figures were derived do not say what series measure',
  log_size_not_found: 'use a size of the [checkpoint](/v1/log/checkpoint)',
  indicator_not_found:
    'search for it in [`/v1/indicators`](/docs/reference/listIndicators); ids are case-sensitive',
  method_not_allowed: 'use GET',
  range_not_satisfiable: 'leave the header `Range` out, or ask for a part of a whole file that it has',
  expectation_failed: 'leave the header `Expect` out',
  header_too_large: 'shorten the URL: ask for fewer countries or indicators',
  rate_limited: 'wait as long as `Retry-After` says; see [Limits](/docs/limits)',
  internal_error: 'try again; if it stays, [write](/contact) with the request id',
  unavailable: 'try again after `Retry-After` seconds',
};

const OF_CODE = {
  rowsMax: ROWS_MAX,
  workbookRowsMax: xlsx.rowsMax,
  pageMax: LIMIT_MAX,
  listFormats: LIST_FORMATS,
  formats: ENCODERS.map(({ name, mediaType, documentation }) => ({
    name,
    mediaType,
    text: documentation ?? '`data` and `meta`; the default',
  })),
  operations: OPERATIONS.map((operation) => ({ ...operation, isPriced: isPriced(operation) })),
  errors: (Object.entries(ERRORS) as [ErrorCode, { status: number; message: string }][])
    .map(([code, { status, message }]) => ({ code, status, message, advice: ADVICE[code] }))
    .toSorted((a, b) => a.status - b.status),
} as const;

/**
 * What the placeholders of guides stand for: facts of the code, and examples that work on an edition.
 * @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable}
 */
async function guideValues(edition: Edition, facts: ServiceFacts): Promise<object> {
  const { id, generatedAt } = edition;
  return {
    ...OF_CODE,
    facts,
    base: facts.baseUrl,
    edition: { id, day: generatedAt.slice(0, 10) },
    example: await exampleValues(edition, facts.baseUrl),
  };
}

/** For an edition that has nothing to show: what stands there is a call all the same. */
const NOTHING = {
  indicator: {
    id: 'world-bank.SP.POP.TOTL',
    name: 'Population, total',
    topic: 'population',
    attribution: 'World Bank, World Development Indicators',
    licence: 'CC BY 4.0',
  },
  countries: [{ iso3: 'KEN' }],
  from: 2019,
  to: 2023,
  value: 0,
} as const;

/** A group beside a country, where the edition has figures of groups; else the country. @param otherwise indicator without them */
async function aggregatedQuery(
  edition: Edition,
  open: readonly CatalogueItem[],
  otherwise: string,
  iso3: string,
): Promise<string> {
  const groups = (await edition.groups())?.groups ?? [];
  const group = groups.find(({ id }) => id === 'world') ?? groups[0];
  const summed = open.find(({ measured }) => measured?.aggregate === 'sum');
  return group && summed
    ? `indicator=${summed.record.id}&countries=@${group.id},${iso3}&aggregate=declared`
    : `indicator=${otherwise}&countries=${iso3}`;
}

async function exampleValues(edition: Edition, base: string) {
  const catalogue = await edition.wholeCatalogue();
  const { observations } = edition;
  const figures = (await exampleFigures({ catalogue, observations })) ?? NOTHING;
  const { indicator, countries, from, to, value } = figures;
  const codes = countries.map(({ iso3 }) => iso3).join(',');
  const open = catalogue
    .ordered('coverage', 'desc')
    .filter(({ record }) => record.access_tier === 'open')
    .toSorted((a, b) => Number(b.record.featured) - Number(a.record.featured));
  const derived = open.find(({ measured }) => measured?.population)?.record.id ?? indicator.id;
  const other = open.find(({ record }) => record.id !== indicator.id)?.record.id ?? indicator.id;
  return {
    indicator,
    codes,
    from,
    to,
    value,
    other,
    derived,
    aggregated: await aggregatedQuery(edition, open, indicator.id, countries[0]?.iso3 ?? ''),
    first: countries[0]?.iso3 ?? '',
    words: indicator.name
      .split(/[\s,(]+/)
      .slice(0, 2)
      .join(' '),
    /** Most rows of the table. */
    cells: countries.length * (to - from + 1),
    url: `${base}/v1/data?indicator=${encodeURIComponent(indicator.id)}&countries=${codes}&from=${from}&to=${to}`,
  };
}
