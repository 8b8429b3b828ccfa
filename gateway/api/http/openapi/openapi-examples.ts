/**
 * Examples for the machine-readable description, from the snapshot that is served: parameters of calls that have an
 * answer, and that answer, shortened. Account operations answer for an invented caller.
 */
import { ENCODERS } from '../../encoders/encoders.ts';
import {
  type Caller,
  type Content,
  type Input,
  OPERATIONS,
  type Operation,
  parameterReader,
  parseQueryString,
} from '../../operations/operations.ts';
import { type ExampleValues, exampleValues, type Snapshot } from '../../snapshot/snapshot.ts';
import { piecesOf } from '../api/representation.ts';

type ParameterExample = string | number | readonly string[];

export interface OperationExamples {
  /** Values by parameter, together one call. */
  parameters: Readonly<Record<string, ParameterExample>>;
  /** Bodies by format. */
  answers: Readonly<Record<string, unknown>>;
  /** Further calls with their answers in JSON, for a page. */
  worked?: readonly { title: string; parameters: Call; answer: unknown }[];
}

/** By operation name. */
export type Examples = Readonly<Record<string, OperationExamples>>;

const LIST_ITEMS = 3;
const TEXT_LINES = 4;

/** A caller who has spent a little. */
const CALLER: Caller = {
  key_id: '0k3v9q2m7x4c',
  account_id: 'acc_0123456789abcdef',
  environment: 'live',
  scopes: ['read'],
  tier: 'free',
  balance: 759,
  isLeased: false,
  now_ms: Date.UTC(2026, 10, 20, 12),
  async usage() {
    const counts = { requests: 12, errors: 1, rows: 240, credits: 241 };
    return {
      credits: { balance: 759, lifetime_granted: 1000, lifetime_spent: 241 },
      totals: counts,
      daily: [{ date: '2026-11-20', ...counts }],
      endpoints: [{ route: '/v1/data', ...counts }],
    };
  },
};

/** Empty without a snapshot, and for a snapshot that cannot be shown. */
export async function readExamples(snapshot: Snapshot | null, publicUrl: string): Promise<Examples> {
  const calls = await readCalls(snapshot);
  if (!snapshot || !calls) return {};
  const served = { snapshot, publicUrl };
  const entries = OPERATIONS.map(async (operation) => {
    const parameters = calls[operation.name] ?? {};
    return [operation.name, { parameters, answers: await answersOf(operation, parameters, served) }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Their answers take more time than a page may: a tree over all rows of an indicator, a record of every indicator. */
const COSTLY: ReadonlySet<string> = new Set([
  'getReceipt',
  'getCatalog',
  ...['getProviderDatapackage', 'getEditionDatapackage', 'getProviderCroissant', 'getEditionCroissant'],
]);

/** The examples of one operation, for a page: with its answer in JSON and one other format, where that costs little. */
export async function readExamplesOf(
  name: string,
  snapshot: Snapshot | null,
  publicUrl: string,
): Promise<OperationExamples> {
  const calls = await readCalls(snapshot);
  const operation = OPERATIONS.find((one) => one.name === name);
  if (!snapshot || !calls || !operation) return { parameters: {}, answers: {} };
  const parameters = calls[name] ?? {};
  if (COSTLY.has(name)) return { parameters, answers: {} };
  const served = { snapshot, publicUrl };
  const answers = await answersOf(operation, parameters, served, 1);
  return { parameters, answers, worked: await workedCalls(operation, parameters, served) };
}

/** Derived figures, by operation: what the call shows, and what it adds to the usual one. */
const DERIVED: Readonly<Record<string, readonly (readonly [title: string, more: Call])[]>> = {
  getData: [
    [
      'Figures per head, with the reason where there is none',
      { transform: 'per_head', fields: 'iso3,year,value,reason' },
    ],
    ['The mean growth a year over five years', { transform: 'growth:5' }],
    ['The world as one place', { countries: '@world', aggregate: 'declared' }],
  ],
  getRanking: [['A ranking of figures per head', { transform: 'per_head' }]],
};

/** Those that the snapshot has answers to. */
async function workedCalls(
  operation: Operation,
  usual: Call,
  served: Served,
): Promise<NonNullable<OperationExamples['worked']>> {
  const derived = DERIVED[operation.name] ?? [];
  if (derived.length === 0) return [];
  const { snapshot } = served;
  const ordered = (await snapshot.wholeCatalogue()).ordered('coverage', 'desc');
  const series = ordered.find(
    ({ record, measured }) => record.access_tier === 'open' && !record.no_rank && measured?.population,
  );
  if (series === undefined) return [];
  const worked = derived.map(async ([title, more]) => {
    const parameters = { ...usual, indicator: series.record.id, ...more };
    const content = await contentOf(operation, parameters, served);
    return content ? [{ title, parameters, answer: shortJson(await bodyOf(content, snapshot)) }] : [];
  });
  return (await Promise.all(worked)).flat();
}

async function readCalls(snapshot: Snapshot | null): Promise<Record<string, Call> | null> {
  const values = snapshot && (await exampleValues(snapshot));
  return values && exampleCalls(values, snapshot.id);
}

type Call = Readonly<Record<string, ParameterExample>>;

type Served = Pick<Input<unknown>, 'publicUrl'> & { snapshot: Snapshot };

function exampleCalls(
  { indicator, revised, countries, from, to, value }: ExampleValues,
  edition: string,
): Record<string, Call> {
  const [country] = countries;
  if (!country) return {};
  const { region, income_group } = country;
  return {
    listCountries: { ...(region && { region }), ...(income_group && { income_group }) },
    getCountry: { iso3: country.iso3, topic: indicator.topic },
    listIndicators: { q: indicator.name, topic: indicator.topic, provider: indicator.provider.id },
    search: { q: indicator.name },
    getIndicator: { indicator_id: indicator.id },
    ...documentCalls('Indicator', { indicator_id: indicator.id }),
    ...documentCalls('Provider', { provider_id: indicator.provider.id }),
    ...documentCalls('Edition', { edition_id: edition }),
    getIndicatorFile: { indicator_id: indicator.id },
    getProviderBundle: { provider_id: indicator.provider.id },
    getRanking: { indicator: indicator.id, year: String(to) },
    getRevisions: { indicator: revised },
    getReceipt: { indicator: indicator.id, country: country.iso3, year: to },
    getConsistency: { from: 1 },
    getData: { indicator: indicator.id, countries: countries.map(({ iso3 }) => iso3).join(','), from, to },
    verifyClaims: {
      claim: [to, to - 1].map((year) => [indicator.id, country.iso3, year, value].join(',')),
    },
  };
}

const documentCalls = (subject: string, call: Call): Record<string, Call> =>
  Object.fromEntries(
    ['Bibtex', 'Csl', 'Datapackage', 'Croissant'].map((form) => [`get${subject}${form}`, call]),
  );

/** @param formats the most besides JSON */
async function answersOf(
  operation: Operation,
  call: Call,
  served: Served,
  formats = Number.POSITIVE_INFINITY,
): Promise<Record<string, unknown>> {
  const content = operation.isFile ? null : await contentOf(operation, call, served);
  if (content === null) return {};
  const body = await bodyOf(content, served.snapshot);
  const json = JSON_TYPE.test(operation.mediaType ?? 'application/json') ? shortJson(body) : body.toString();
  const others = otherTextFormats(operation)
    .slice(0, formats)
    .map(async (name) => {
      const other = await contentOf(operation, { ...call, format: name }, served);
      return other === null ? [] : [[name, shortText(await bodyOf(other, served.snapshot))] as const];
    });
  return { json, ...Object.fromEntries((await Promise.all(others)).flat()) };
}

/** The formats of an operation besides JSON that can be shown as text. */
function otherTextFormats({ formats = [], otherFormats = [] }: Operation): string[] {
  const encoded = ENCODERS.filter(
    ({ name, isText, documentation }) => isText && documentation !== null && formats.includes(name),
  );
  return [...encoded, ...otherFormats].map(({ name }) => name);
}

const JSON_TYPE = /[/+]json\b/;

/** Files have no example. */
type Shown = Exclude<Content, { kind: 'whole' | 'object' }>;

/** Null for a call that is refused, and for a file. */
async function contentOf(operation: Operation, call: Call, served: Served): Promise<Shown | null> {
  const sent = Object.entries(call).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  const isInPath = ([name]: [string, string]): boolean => name in operation.pathParameters;
  const path = Object.fromEntries(sent.filter(isInPath));
  const query = new URLSearchParams(sent.filter((one) => !isInPath(one)));
  const reading = parameterReader(operation.query)(parseQueryString(query.toString()));
  if (!reading.ok) return null;
  const planned = await operation.plan({ ...served, path, query: reading.values });
  const content = planned.kind === 'plan' ? await planned.produce(CALLER) : null;
  return content?.kind === 'whole' || content?.kind === 'object' ? null : content;
}

async function bodyOf(content: Shown, { routes }: Snapshot): Promise<Buffer> {
  if (content.kind === 'file') return routes.bytes(content.path, 'identity');
  if (content.kind === 'document') return content.json;
  return Buffer.concat(await piecesOf(content));
}

const shortJson = (body: Buffer): unknown => shortened(JSON.parse(body.toString()));

/** Lists keep their first items. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, LIST_ITEMS).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]));
}

const shortText = (body: Buffer): string =>
  body
    .toString()
    .split(/(?<=\n)/)
    .slice(0, TEXT_LINES)
    .join('');
