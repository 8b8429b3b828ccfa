/** Tables of pages: the filters behind the macro `table` of `views/parts.njk`, and sorting by column. */
import nunjucks from 'nunjucks';

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
