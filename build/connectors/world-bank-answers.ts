/**
 * The answers of the World Bank's API v2, decoded.
 *
 * Every answer is `[paging, rows]`. Refusals come as HTTP 200 with `[{"message": [{id, key, value}]}]`; "no data" as
 * `pages: 0` with `null` for rows; paging numbers are numbers or strings, by version and by route.
 */
import { z } from 'zod';
import type { RawObservation } from './connector.ts';
import { AnswerError, isObject, textOf } from './json-body.ts';

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
    [textOf(one, 'key'), textOf(one, 'value')].filter(Boolean).join(': '),
  );
  return told.join('; ') || 'no reason given';
}

/**
 * Decodes one page.
 * @throws {AnswerError} for a refusal, with the API's words, and for anything that is no page.
 */
export function decodePage(answer: unknown, reference: string): Page {
  const [first, rows] = Array.isArray(answer) ? answer : [answer];
  const refusal = refusalIn(first);
  if (refusal !== null) throw new AnswerError(`${reference}: refused: ${refusal}`);
  const paging = pagingSchema.safeParse(first);
  if (!paging.success) throw new AnswerError(`${reference}: no paging in the answer`);
  if (rows !== null && rows !== undefined && !Array.isArray(rows)) {
    throw new AnswerError(`${reference}: the rows are no list`);
  }
  return { paging: paging.data, rows: rows ?? [] };
}

/** The licence and the unit that `/sources/{id}/series/{code}/metadata` states; null where it states none. */
export function decodeSeriesMetadata(answer: unknown): { licence: string | null; unit: string | null } {
  const found = new Map<string, string | null>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const one of node) visit(one);
    if (!isObject(node)) return;
    const id = textOf(node, 'id');
    if (id !== null && 'value' in node)
      found.set(id.toLowerCase().replaceAll(/[^a-z]/g, ''), textOf(node, 'value'));
    for (const child of ['source', 'concept', 'variable', 'metatype']) visit(node[child]);
  };
  visit(answer);
  return { licence: found.get('licensetype') ?? null, unit: found.get('unitofmeasure') ?? null };
}

/**
 * One row of values as an observation.
 * @param forecasts the `obs_status` texts that mark a forecast
 * @throws {AnswerError} when the row is of another indicator or not a row of values
 */
export function decodeRow(
  row: unknown,
  code: string,
  forecasts: ReadonlySet<string>,
  reference: string,
): RawObservation {
  if (!isObject(row) || !('value' in row) || !('date' in row)) {
    throw new AnswerError(`${reference}: a row without date or value`);
  }
  const indicator = textOf(row.indicator, 'id');
  if (indicator?.toUpperCase() !== code.toUpperCase()) {
    throw new AnswerError(`${reference}: a row of ${indicator ?? 'no indicator'} instead of ${code}`);
  }
  const { value } = row;
  if (value !== null && typeof value !== 'number' && typeof value !== 'string') {
    throw new AnswerError(`${reference}: a value that is neither number nor null`);
  }
  const status = textOf(row, 'obs_status');
  return {
    place: textOf(row, 'countryiso3code') ?? textOf(row.country, 'id') ?? '',
    year: textOf(row, 'date') ?? '',
    value: value === '' ? null : value,
    projected: status !== null && forecasts.has(status.toLowerCase()),
    status,
  };
}
