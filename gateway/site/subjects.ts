/** What pages and pictures are about. */
import type { CountryRecord, IndicatorRecord } from '../../data/schema/records.ts';
import type { Edition } from '../api/snapshot/editions/edition.ts';
import { wellKnownFirst } from '../api/snapshot/editions/example-values.ts';
import { latestYear, yearFigures } from './series.ts';

/** By its id of today or a former one; undefined for one that may not be shown. */
export async function shownIndicator(edition: Edition, asked = ''): Promise<IndicatorRecord | undefined> {
  const { id } = edition.editions.resolve(asked);
  return (await edition.indicator(id))?.record;
}

/**
 * The countries asked for, those that there are, in the order asked. Without any: some that readers know, with a figure in
 * the latest year.
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
  const year = latestYear(indicator);
  if (year === null) return [];
  const { figures } = await yearFigures(edition, indicator, year);
  return wellKnownFirst(figures.map(({ country }) => country.iso3));
}
