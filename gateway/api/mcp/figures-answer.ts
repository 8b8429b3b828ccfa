/** Answers with figures, cut to what fits, with what all of them would cost. */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import type { Edition } from '../snapshot/editions/edition.ts';
import { type Answer, addressOf, type Figure, type Refusal, type Series, seriesOf } from './answer.ts';
import { fitted } from './answer-size.ts';
import { dataCall, type FiguresAsked } from './figures.ts';
import { pathOf } from './inner-call.ts';
import type { AskedPlaces } from './places.ts';
import { listed, refusedText } from './refusals.ts';

const GROUP_NOTE =
  'A group has no figure of its own: these are its members. Do not add or average them, unless the user asks for that and is told.';

export interface FiguresAbout {
  edition: Edition;
  publicUrl: string;
  as_of?: string | undefined;
  groups?: AskedPlaces['groups'] | undefined;
  /** Of the figures. */
  records: readonly IndicatorRecord[];
  figures: readonly Figure[];
  refusals: readonly Refusal[];
  /** All that was asked for, of which `figures` may be the first only. */
  held?: { rows: number; price: number; asked: FiguresAsked };
  /** Said first. */
  note?: string | undefined;
}

export interface FiguresAnswer extends Answer {
  figures: Figure[];
  series: Series[];
  refusals: readonly Refusal[];
}

export function figuresAnswer(about: FiguresAbout): FiguresAnswer {
  const { edition, publicUrl, as_of, groups = [], records, figures, refusals, held } = about;
  const total = held?.rows ?? figures.length;
  return fitted(figures.length, (rows) => {
    const shown = figures.slice(0, rows);
    const ids = new Set(shown.map(({ indicator }) => indicator));
    return {
      outcome: shown.length === 0 ? 'refused' : 'answer',
      message: messageOf(about, shown, total),
      edition: edition.id,
      ...(as_of !== undefined && { as_of }),
      figures: shown,
      series: records.filter(({ id }) => ids.has(id)).map((record) => seriesOf(record, publicUrl)),
      ...listed(refusals),
      ...(groups.length > 0 && { groups }),
      ...(held !== undefined && rows < total && { truncated: truncation(held, rows, publicUrl) }),
    };
  });
}

const truncation = (
  { rows: rows_held, price, asked }: NonNullable<FiguresAbout['held']>,
  rows_given: number,
  publicUrl: string,
) => ({ rows_held, rows_given, url: addressOf(publicUrl, pathOf(dataCall(asked))), price });

function messageOf(
  { note, groups = [], refusals }: FiguresAbout,
  shown: readonly Figure[],
  total: number,
): string {
  const first = shown.length === 0 ? refusedText(refusals) : figuresText(shown, total);
  const parts = [note, first, groups.length > 0 && GROUP_NOTE];
  if (shown.length > 0 && refusals.length > 0)
    parts.push('What is under `refusals` is not held: say so, and give no figure for it.');
  return parts.filter((part) => typeof part === 'string').join(' ');
}

function figuresText(shown: readonly Figure[], total: number): string {
  const years = shown.map(({ year }) => year);
  const [first, last] = [Math.min(...years), Math.max(...years)];
  const span = first === last ? `the year ${first}` : `the years ${first} to ${last}`;
  const count = shown.length < total ? `The first ${shown.length} of ${total} figures` : `${total} figures`;
  const projected = shown.some((figure) => figure.projected)
    ? ' Some are forecasts: `projected` says which.'
    : '';
  return `${count}, of ${span}; name the year with each figure, and its source.${projected}`;
}
