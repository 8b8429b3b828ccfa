/** Carries out the revisions of an indicator on its figures in an edition, over the public interface alone. */
import { z } from 'zod';
import type { Caller } from './served.ts';

const figure = {
  value: z.number().nullable(),
  ci_lo: z.number().nullable(),
  ci_hi: z.number().nullable(),
  projected: z.boolean(),
};
const observations = z.object({
  data: z.array(z.object({ iso3: z.string(), year: z.int(), ...figure })),
});
const revisions = z.object({
  data: z.array(
    z.object({
      iso3: z.string(),
      year: z.int(),
      new_value: z.number().nullable(),
      new_ci_lo: z.number().nullable(),
      new_ci_hi: z.number().nullable(),
      new_projected: z.boolean().nullable(),
    }),
  ),
});

/** Figures as text by `iso3 year`. */
export type Figures = Record<string, string>;

const textOf = (...cells: (number | boolean | null)[]): string => cells.join(' ');

/** The figures of an indicator; none where it is not there. */
export async function figuresOf(caller: Caller, indicator: string, asOf?: string): Promise<Figures> {
  const query = asOf === undefined ? '' : `&as_of=${asOf}`;
  const { status, bytes } = await caller.get(`/v1/data?indicator=${indicator}${query}`);
  if (status === 404) return {};
  const { data } = observations.parse(JSON.parse(bytes.toString()));
  const held = data.filter(({ value }) => value !== null);
  return Object.fromEntries(
    held.map(({ iso3, year, value, ci_lo, ci_hi, projected }) => [
      `${iso3} ${year}`,
      textOf(value, ci_lo, ci_hi, projected),
    ]),
  );
}

/** The figures of an edition with all later revisions carried out. */
export async function replay(caller: Caller, indicator: string, since: string): Promise<Figures> {
  const figures = await figuresOf(caller, indicator, since);
  const { status, bytes } = await caller.get(`/v1/revisions?indicator=${indicator}&since=${since}`);
  if (status !== 200) throw new Error(`the revisions of ${indicator} are ${status}: ${bytes}`);
  for (const row of revisions.parse(JSON.parse(bytes.toString())).data) {
    const key = `${row.iso3} ${row.year}`;
    const { new_value: value, new_ci_lo: low, new_ci_hi: high, new_projected: projected } = row;
    if (value === null) delete figures[key];
    else figures[key] = textOf(value, low, high, projected);
  }
  return figures;
}
