/**
 * A fake of the World Bank's API v2: `[paging, rows]`, refusals with HTTP 200, "no data" as `pages: 0` and null; on
 * request with a byte order mark, and paging numbers as strings.
 */
import { type FakeResponse, json, type Route } from './server.ts';

export interface FakeFigure {
  iso3: string;
  /** The API's two-letter code; some aggregates have no other. */
  id: string;
  year: string;
  value: number | null;
  status?: string;
}

export interface FakeIndicator {
  code: string;
  name: string;
  note: string;
  organization: string;
  topics: string[];
  licence: string | null;
  aggregation?: string;
  updated: string;
  figures: FakeFigure[];
}

interface FormatOptions {
  /** Prepends a byte order mark to every response. */
  mark?: boolean;
  /** Writes paging numbers as strings. */
  strings?: boolean;
}

const REFUSAL = [
  { message: [{ id: '120', key: 'Invalid value', value: 'The provided parameter value is not valid' }] },
];

function paging(url: URL, total: number, format: FormatOptions, more: object = {}): [object, number, number] {
  const perPage = Number(url.searchParams.get('per_page') ?? 50);
  const pages = Math.ceil(total / perPage);
  const page = total === 0 ? 0 : Number(url.searchParams.get('page') ?? 1);
  const numbers = { page, pages, per_page: total === 0 ? 0 : perPage, total };
  const written = format.strings
    ? Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)]))
    : numbers;
  return [{ ...written, ...more }, (page - 1) * perPage, page * perPage];
}

const describe = (one: FakeIndicator): object => ({
  id: one.code,
  name: one.name,
  unit: '',
  source: { id: '2', value: 'World Development Indicators' },
  sourceNote: one.note,
  sourceOrganization: one.organization,
  topics: one.topics.map((value, index) => ({ id: String(index + 1), value: `${value} ` })),
});

const valueRow = (one: FakeIndicator, figure: FakeFigure): object => ({
  indicator: { id: one.code, value: one.name },
  country: { id: figure.id, value: figure.iso3 },
  countryiso3code: figure.iso3,
  date: figure.year,
  value: figure.value,
  unit: '',
  obs_status: figure.status ?? '',
  decimal: 1,
});

function metadata(one: FakeIndicator): object {
  const metatype = [{ id: 'IndicatorName', value: one.name }];
  if (one.licence !== null) metatype.push({ id: 'License_Type', value: one.licence });
  if (one.aggregation !== undefined) metatype.push({ id: 'Aggregationmethod', value: one.aggregation });
  const concept = [{ id: 'Series', variable: [{ id: one.code, metatype }] }];
  return { page: 1, pages: 1, per_page: '5000', total: 1, source: [{ id: '2', concept }] };
}

export function worldBankRoute(
  find: (code: string) => FakeIndicator | null,
  listed: readonly string[],
  format: FormatOptions = {},
): Route {
  const write = (value: unknown): FakeResponse => {
    const answer = json(value);
    return format.mark ? { ...answer, body: `\uFEFF${answer.body}` } : answer;
  };
  const values = (url: URL, one: FakeIndicator): FakeResponse => {
    const [from, to] = (url.searchParams.get('date') ?? '0:9999').split(':');
    const figures = one.figures.filter(({ year }) => year >= (from ?? '') && year <= (to ?? from ?? ''));
    const [head, start, end] = paging(url, figures.length, format, {
      sourceid: '2',
      lastupdated: one.updated,
    });
    const rows = figures.slice(start, end).map((figure) => valueRow(one, figure));
    return write([head, figures.length === 0 ? null : rows]);
  };
  return (url) => {
    const path = url.pathname.slice(1).split('/').map(decodeURIComponent);
    const code = path.at(-1) === 'metadata' ? path.at(-2) : path.at(-1);
    if (path[0] === 'source' && path[2] === 'indicator') {
      const [head, start, end] = paging(url, listed.length, format);
      const rows = listed.slice(start, end).map((each) => {
        const one = find(each);
        return one && describe(one);
      });
      return write([head, rows]);
    }
    const one = find(code ?? '');
    if (one === null) return write(REFUSAL);
    if (path[0] === 'country') return values(url, one);
    if (path[0] === 'indicator') return write([paging(url, 1, format)[0], [describe(one)]]);
    return path[0] === 'sources' ? write(metadata(one)) : null;
  };
}
