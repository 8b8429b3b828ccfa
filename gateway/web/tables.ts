/** Tables of pages: the filters behind the macro `table` of `views/parts.njk`, and sorting by column. */
import nunjucks from 'nunjucks';
import { z } from 'zod';
import { withQuery } from './forms.ts';

interface TableColumn {
  label: string;
  /** Numbers, or long text that may break anywhere; empty for others. */
  kind: 'figure' | 'wrap' | '';
  sort: SortLink | null;
}

/** As templates write columns; falsy ones are left out. */
type ColumnInput = string | (Partial<TableColumn> & { label: string }) | null | undefined | false | '';

export function tableColumns(columns: readonly ColumnInput[]): TableColumn[] {
  return columns.flatMap((column) => {
    if (!column) return [];
    const input = typeof column === 'string' ? { label: column } : column;
    return [{ label: input.label, kind: input.kind ?? '', sort: input.sort ?? null }];
  });
}

/** Adds to each cell of a table body the class and the label of its column; cards show the label. */
export function labelCells(
  body: { toString(): string },
  inputs: readonly ColumnInput[],
): nunjucks.runtime.SafeString {
  const columns = tableColumns(inputs);
  let at = 0;
  const labelled = body.toString().replaceAll(/<(tr|td|th)\b/g, (tag, name) => {
    const column = name === 'tr' ? undefined : columns[at];
    at = name === 'tr' ? 0 : at + 1;
    if (!column) return tag;
    const kind = column.kind === '' ? '' : ` class="${column.kind}"`;
    return `${tag}${kind} data-label="${attribute(column.label)}"`;
  });
  return new nunjucks.runtime.SafeString(labelled);
}

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

/** Link of a column's header. */
export interface SortLink {
  /** Sorts by this column; reverses the order when the rows are sorted by it. */
  href: string;
  /** Null when the rows are sorted by another column. */
  order: 'ascending' | 'descending' | null;
}

type SortKey<Row> = (row: Row) => string | number | null;

const collator = new Intl.Collator('en', { numeric: true });

/**
 * Sorting by the columns of a closed list. The parameter is the name of a column, with `-` in front for descending
 * order; it is blank for the order in which the rows come.
 */
export class TableSort<Row> {
  readonly #columns: ReadonlyMap<string, SortKey<Row>>;
  /** Of the query parameter. */
  readonly field: z.ZodType<string>;

  constructor(columns: Readonly<Record<string, SortKey<Row>>>) {
    this.#columns = new Map(Object.entries(columns));
    const names = [...this.#columns.keys()];
    this.field = z.enum(['', ...names, ...names.map((name) => `-${name}`)]).default('');
  }

  /** Rows without a value come last in either order. */
  sort(rows: readonly Row[], order: string): Row[] {
    const key = this.#columns.get(order.replace(/^-/, ''));
    if (!key) return [...rows];
    const sign = order.startsWith('-') ? -1 : 1;
    return rows.toSorted((a, b) => {
      const [left, right] = [key(a), key(b)];
      if (left === null || right === null) return Number(left === null) - Number(right === null);
      if (typeof left === 'number' && typeof right === 'number') return sign * (left - right);
      return sign * collator.compare(String(left), String(right));
    });
  }

  /** Links of the headers by column. @param parameter that holds the order */
  links(
    path: string,
    filters: Record<string, string | number>,
    order: string,
    parameter = 'sort',
  ): Record<string, SortLink> {
    const link = (name: string): SortLink => ({
      href: withQuery(path, { ...filters, [parameter]: order === name ? `-${name}` : name }),
      order: order === name ? 'ascending' : order === `-${name}` ? 'descending' : null,
    });
    return Object.fromEntries([...this.#columns.keys()].map((name) => [name, link(name)]));
  }
}
