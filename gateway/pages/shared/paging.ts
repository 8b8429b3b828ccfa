/** One page of a long list, and the links to its neighbours. */

export interface Pager {
  total: number;
  /** Counted from one; 0 when there is nothing. */
  from: number;
  to: number;
  previous: string | null;
  next: string | null;
}

/** A path with the parameters that are set. */
export function link(path: string, parameters: Record<string, string | number>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== '' && value !== 0) query.set(name, String(value));
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

export function pager(
  path: string,
  filters: Record<string, string | number>,
  { total, limit, offset }: { total: number; limit: number; offset: number },
): Pager {
  const to = Math.min(offset + limit, total);
  return {
    total,
    from: Math.min(offset + 1, total),
    to,
    previous: offset > 0 ? link(path, { ...filters, limit, offset: Math.max(0, offset - limit) }) : null,
    next: to < total ? link(path, { ...filters, limit, offset: offset + limit }) : null,
  };
}
