/** Numbered pages of a long list. Each has an address of its own, so a list needs no script. */

export const PAGE_SIZE = 50;
/** Pages on either side of the one that is shown. */
const NEIGHBOURS = 2;

/** A link of the pager; `href` is null for the page that is shown. */
interface NumberedPage {
  number: number;
  href: string | null;
  /** Pages before it have no link. */
  isAfterGap: boolean;
}

export interface ListPage<Item> {
  items: readonly Item[];
  number: number;
  total: number;
  /** Position of the first and the last item, from 1; 0 without any. */
  from: number;
  to: number;
  /** Empty where all fits one page. */
  pages: readonly NumberedPage[];
}

export type Filters = Readonly<Record<string, string | number | undefined>>;

/** A path with those filters that are set. */
export function withQuery(path: string, filters: Filters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters))
    if (value !== undefined && value !== '') query.set(name, String(value));
  // Commas need no escape, and people read addresses.
  return query.size === 0 ? path : `${path}?${String(query).replaceAll('%2C', ',')}`;
}

/** Undefined for a page behind the last one. @param filters of the list, for the links */
export function listPage<Item>(
  all: readonly Item[],
  number: number,
  path: string,
  filters: Filters = {},
): ListPage<Item> | undefined {
  const last = Math.max(1, Math.ceil(all.length / PAGE_SIZE));
  if (number > last) return undefined;
  const start = (number - 1) * PAGE_SIZE;
  const items = all.slice(start, start + PAGE_SIZE);
  const from = items.length === 0 ? 0 : start + 1;
  const href = (page: number) => withQuery(path, { ...filters, page: page === 1 ? undefined : page });
  const pages = last === 1 ? [] : shownNumbers(number, last);
  return {
    items,
    number,
    total: all.length,
    from,
    to: start + items.length,
    pages: pages.map((page, at) => ({
      number: page,
      href: page === number ? null : href(page),
      isAfterGap: page - (pages[at - 1] ?? 0) > 1,
    })),
  };
}

/** The first, the last, and those around the one that is shown. */
function shownNumbers(number: number, last: number): number[] {
  const around = Array.from({ length: 2 * NEIGHBOURS + 1 }, (_, at) => number - NEIGHBOURS + at);
  const all = new Set([1, ...around.filter((page) => page > 1 && page < last), last]);
  return [...all];
}
