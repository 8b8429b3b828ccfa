/** What the lists of the area share: fields of their addresses, links to themselves in another state, searching and CSV. */
import type { FastifyReply } from 'fastify';
import {
  type Cell,
  createPager,
  formatField,
  integerField,
  sendCsv,
  type TableSort,
  withQuery,
} from '../gateway/web/forms.ts';

/** Fields of a list that is shown in pages. */
export const LIST_FIELDS = {
  limit: integerField(1, 500, 50),
  offset: integerField(0, 10_000_000, 0),
  format: formatField,
};

/**
 * Links of the columns, to other pages, and to a CSV of all rows that match.
 * @param list without `limit` and `offset` where it has no pages, without `order` where its columns do not sort
 */
export const listLinks = (
  path: string,
  filters: Record<string, string>,
  list: {
    order?: Pick<TableSort<unknown>, 'links'>;
    sort?: string;
    total?: number;
    limit?: number;
    offset?: number;
  },
) => {
  const { order, sort = '', total = 0, limit = 0, offset = 0 } = list;
  return {
    sort,
    sorts: order?.links(path, { ...filters, limit }, sort) ?? {},
    pager: createPager(path, { ...filters, sort }, { total, limit, offset }),
    csv: withQuery(path, { ...filters, sort, format: 'csv' }),
  };
};

/** Whether a text contains every word of a search, in any case. */
export function containsWords(text: string, search: string): boolean {
  const searched = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => searched.includes(word));
}

export type Records = Iterable<object> | AsyncIterable<object>;

/** Sends records as `<name>.csv`. A column is the field of its name, or `<column>_ms` in ISO 8601; otherwise it is blank. */
export const sendRecords = (
  reply: FastifyReply,
  name: string,
  columns: readonly string[],
  records: Records,
): FastifyReply => sendCsv(reply, name, columns, rowsOf(columns, records));

async function* rowsOf(columns: readonly string[], records: Records): AsyncGenerator<Cell[]> {
  for await (const record of records) {
    const fields = new Map<string, Cell | undefined>(Object.entries(record));
    yield columns.map((column) => fields.get(column) ?? isoTime(fields.get(`${column}_ms`)));
  }
}

const isoTime = (ms: Cell | undefined): string => (typeof ms === 'number' ? new Date(ms).toISOString() : '');
