/** What the lists of the area share: the fields of their addresses beside filters, and links to themselves in another state. */
import {
  createPager,
  formatField,
  integerField,
  type Pager,
  type SortLink,
  type TableSort,
  withQuery,
} from '../gateway/web/forms.ts';

/** Fields of a list that is shown in pages. */
export const LIST_FIELDS = {
  limit: integerField(1, 500, 50),
  offset: integerField(0, 10_000_000, 0),
  format: formatField,
};

export interface ListLinks {
  sort: string;
  sorts: Record<string, SortLink>;
  pager: Pager;
  /** All rows that match. */
  csv: string;
}

/** @param list without `limit` and `offset` where it has no pages, without `order` where its columns do not sort */
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
): ListLinks => {
  const { order, sort = '', total = 0, limit = 0, offset = 0 } = list;
  return {
    sort,
    sorts: order?.links(path, { ...filters, limit }, sort) ?? {},
    pager: createPager(path, { ...filters, sort }, { total, limit, offset }),
    csv: withQuery(path, { ...filters, sort, format: 'csv' }),
  };
};
