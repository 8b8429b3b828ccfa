/** What the address of a page or a picture asks for. */
import type { CountryRecord, IndicatorRecord } from '../../data/schema/records.ts';
import { COUNTRY_CODE, fail, integer, placeNamed, text } from '../api/operations/operations.ts';
import { type Edition, wellKnownFirst } from '../api/snapshot/snapshot.ts';
import { openingFigures } from './series.ts';

/** The most countries whose histories one picture shows. */
export const PICTURED_MAX = 6;

/** Distinct codes separated by commas, upper-cased, in the order sent. Blanks are passed over: forms send them. */
export const picturedCountries = (max = PICTURED_MAX) =>
  text().transform((sent, ctx): string[] => {
    const codes = [...new Set(sent.split(',').flatMap((part) => part.trim() || []))];
    const wrong = codes.find((code) => !COUNTRY_CODE.test(code));
    if (wrong !== undefined)
      return fail(ctx, { type: 'string_pattern_mismatch', ctx: { expected: 'ISO3 codes' }, input: wrong });
    if (codes.length > max)
      return fail(ctx, { type: 'too_long', ctx: { max_length: max, actual_length: codes.length } });
    return codes.map((code) => code.toUpperCase());
  });

export const year = () => integer({ min: -10_000, max: 10_000 });

/** By any usual code or name that means one country. */
export function findCountry(edition: Edition, sent: string): CountryRecord | undefined {
  const named = placeNamed(sent);
  return named.kind === 'country' ? edition.countriesByCode.get(named.iso3) : undefined;
}

/** By its id of today or a former one; undefined for one that may not be shown. */
export async function shownIndicator(edition: Edition, asked = ''): Promise<IndicatorRecord | undefined> {
  const { id } = edition.resolve(asked);
  return (await edition.indicator(id))?.record;
}

/**
 * The countries asked for, those that there are, in the order asked. Without any: some that readers know, with a figure in
 * the year that pages open on.
 */
export async function chosenCountries(
  edition: Edition,
  indicator: IndicatorRecord,
  codes: readonly string[] | undefined,
): Promise<CountryRecord[]> {
  const chosen = codes && codes.length > 0 ? codes : await wellKnown(edition, indicator);
  return chosen.flatMap((code) => edition.countriesByCode.get(code) ?? []);
}

async function wellKnown(edition: Edition, indicator: IndicatorRecord): Promise<string[]> {
  const opening = await openingFigures(edition, indicator);
  return wellKnownFirst(opening?.figures.map(({ country }) => country.iso3) ?? []);
}
