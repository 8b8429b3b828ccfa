/** GET /data: raw observations of one indicator, as JSON or CSV. */
import { z } from 'zod';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { headerAddress, headerText } from '../http/header-text.ts';
import { type Body, JSON_TYPE } from '../http/representation.ts';
import type { ObservationRows } from '../snapshot/observations.ts';
import { CSV_HEADER } from '../snapshot/row-text.ts';
import { dataAnswer } from './answers.ts';
import { indicatorNotFound } from './indicator.ts';
import { defineRoute, type Outcome, sentOnly } from './operation.ts';
import { fail, integer, oneOf, text } from './parameters.ts';
import type { Failure } from './validation.ts';

const COUNTRIES_MAX = 300;
const THREE_LETTERS = /^[A-Za-z]{3}$/;
const CSV_TYPE = 'text/csv; charset=utf-8';

/** Codes in the order sent, each once. A blank list is an error, never the whole indicator by accident. */
const countryList = text()
  .transform((sent, ctx): string[] => {
    const codes = sent.split(',').map((code) => code.trim());
    const failures = codes.flatMap((code, at): Failure[] =>
      THREE_LETTERS.test(code)
        ? []
        : [
            {
              type: 'string_pattern_mismatch',
              ctx: { expected: 'a code of three letters' },
              input: code,
              at,
            },
          ],
    );
    if (failures.length > 0) return fail(ctx, ...failures.slice(0, COUNTRIES_MAX));
    const distinct = [...new Set(codes.map((code) => code.toUpperCase()))];
    if (distinct.length <= COUNTRIES_MAX) return distinct;
    return fail(ctx, {
      type: 'too_long',
      ctx: { max_length: COUNTRIES_MAX, actual_length: distinct.length },
    });
  })
  .meta({ type: 'string', example: 'KEN,UGA,TZA' });

const indicatorText = text().transform((sent, ctx) =>
  sent === '' ? fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 } }) : sent,
);

const query = z
  .object({
    indicator: indicatorText
      .describe('Indicator id')
      .meta({ type: 'string', minLength: 1, example: 'gapminder.life_expectancy_years' }),
    countries: countryList
      .optional()
      .describe(`ISO 3166-1 alpha-3 codes separated by commas, at most ${COUNTRIES_MAX}; default all`),
    from: integer().optional().describe('First year, inclusive').meta({ example: 2000 }),
    to: integer().optional().describe('Last year, inclusive').meta({ example: 2020 }),
    format: oneOf(['json', 'csv']).optional().describe('Default `json`').meta({ default: 'json' }),
  })
  .superRefine(({ from, to }, ctx) => {
    if (from === undefined || to === undefined || from <= to) return;
    const failure: Failure = { type: 'value_error', ctx: { error: 'from must not be after to' } };
    ctx.addIssue({ code: 'custom', path: ['from'], params: { failure } });
  });

export const data = defineRoute({
  template: '/data',
  operation: 'getData',
  tag: 'Data',
  summary: 'Observations',
  description:
    'The observations of one indicator by country and year, ordered so. Costs a credit per row, at least one. ' +
    'A missing measurement is a row with null. Codes without data match nothing.',
  key: 'required',
  price: 'max(1, rows) credits',
  tagged: false,
  path: {},
  query,
  answer: dataAnswer,
  csv: {
    description:
      'RFC 4180, UTF-8, CRLF; null is an empty field. `Link` and `X-Attribution` carry the licence.',
    example: `${CSV_HEADER}gapminder.life_expectancy_years,KEN,2000,54.3,,,151,false\r\n`,
  },
  refusals: ['indicator_not_found', 'export_restricted'],
  async handle({ snapshot, query: asked }): Promise<Outcome> {
    const item = snapshot.catalogue.indicators.get(asked.indicator);
    if (!item) return indicatorNotFound(asked.indicator);
    const { record } = item;
    if (record.access_tier === 'display') return { kind: 'refusal', code: 'export_restricted' };
    const { countries, from, to, format } = asked;
    const filter = { countries: countries?.toSorted(), from, to };
    const found = await snapshot.observations.rows(record.id, filter, format ?? 'json');
    const echo = sentOnly({ countries, from, to, format });
    const body =
      format === 'csv'
        ? csvBody(record, found)
        : jsonRows(record, found, snapshot.catalogue.generatedAt, echo);
    return { kind: 'answer', body, price: Math.max(1, found.rows), rows: found.rows };
  },
});

const JSON_START = Buffer.from('{"data":[');

function jsonRows(
  record: IndicatorRecord,
  { rows, chunks }: ObservationRows,
  generatedAt: string,
  echo: Record<string, unknown>,
): Body {
  const meta = {
    generated_at: generatedAt,
    count: rows,
    indicator: record.id,
    name: record.name,
    unit: record.unit,
    licence: record.licence,
    licence_url: record.licence_url,
    attribution: record.attribution,
    ...echo,
  };
  const end = Buffer.from(`],"meta":${JSON.stringify(meta)}}`);
  return { kind: 'bytes', type: JSON_TYPE, chunks: [JSON_START, ...chunks, end] };
}

const CSV_START = Buffer.from(CSV_HEADER);

function csvBody(record: IndicatorRecord, { chunks }: ObservationRows): Body {
  const headers = [
    'Content-Disposition',
    `attachment; filename="${record.id}.csv"`,
    'X-Attribution',
    headerText(record.attribution),
  ];
  if (record.licence_url !== null)
    headers.push('Link', `<${headerAddress(record.licence_url)}>; rel="license"`);
  return { kind: 'bytes', type: CSV_TYPE, chunks: [CSV_START, ...chunks], headers };
}
