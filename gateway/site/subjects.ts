/** What the address of a page or a picture asks for. */
import type { CountryRecord, IndicatorRecord } from '../../data/schema/records.ts';
import {
  COUNTRY_CODE,
  fail,
  GROUP_MARK,
  integer,
  oneOf,
  placeNamed,
  text,
} from '../api/operations/operations.ts';
import { type Edition, wellKnownFirst } from '../api/snapshot/snapshot.ts';
import type { ShownFigures } from './derived.ts';
import { type DrawnPlace, findPlace, openingFigures, publishedSeries, type ShownSeries } from './series.ts';

/** The most places whose histories one picture shows. */
export const PICTURED_MAX = 6;

/** Distinct codes of countries, upper-cased, and groups, separated by commas, in the order sent. Blanks are passed over: forms send them. */
export const picturedPlaces = (max = PICTURED_MAX) =>
  text().transform((sent, ctx): string[] => {
    const codes = [...new Set(sent.split(',').flatMap((part) => part.trim() || []))];
    const wrong = codes.find((code) => !COUNTRY_CODE.test(code) && !code.startsWith(GROUP_MARK));
    if (wrong !== undefined)
      return fail(ctx, {
        type: 'string_pattern_mismatch',
        ctx: { expected: 'ISO3 codes or groups' },
        input: wrong,
      });
    if (codes.length > max)
      return fail(ctx, { type: 'too_long', ctx: { max_length: max, actual_length: codes.length } });
    return codes.map(upperCased);
  });

/** Codes that one address may hold. */
const CODES_MAX = 50;
/** Characters of what is no place, when it is shown again. */
const ECHO_MAX = 60;

/** Codes of countries and groups by any usual code or name, separated by commas; what is no place stays as it was sent. */
export function placeCodes(sent: string): string[] {
  const code = (text: string): string | undefined => {
    const named = placeNamed(text);
    if (named.kind === 'country') return named.iso3;
    return named.kind === 'group' ? GROUP_MARK + named.group.id : undefined;
  };
  // Some names have a comma.
  const whole = sent.includes(', ') ? code(sent) : undefined;
  if (whole !== undefined) return [whole];
  const parts = sent.split(',', CODES_MAX).map((part) => part.trim());
  return parts.filter((part) => part !== '').map((part) => code(part) ?? part.slice(0, ECHO_MAX));
}

/** A sentence about what is no place of the edition, with those that may be meant. */
export function noPlace(sent: string): string {
  const named = placeNamed(sent);
  const meant = named.kind === 'none' ? named.candidates.map(({ name }) => name) : [];
  return `There is no country “${sent}”.${meant.length === 0 ? '' : ` Is ${meant.join(' or ')} meant?`}`;
}

/** Codes of countries; ids of groups are lower-case. */
export const upperCased = (code: string): string => (code.startsWith(GROUP_MARK) ? code : code.toUpperCase());

/** What an address says of lines. */
export const linesView = () => ({
  from: year().optional(),
  to: year().optional(),
  scale: oneOf(['linear', 'log']).optional(),
});

export const year = () => integer({ min: -10_000, max: 10_000 });

/** The concept of the series that says how large countries are. */
const POPULATION = 'population';

/** How many people countries have, by ISO3. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function peopleByCountry(edition: Edition): Promise<ReadonlyMap<string, number>> {
  const { indicators } = await edition.wholeCatalogue();
  const series = [...indicators.values()].filter(({ traits }) => traits.concept === POPULATION);
  const population = (series.find(({ record }) => record.preferred) ?? series[0])?.record;
  const opening = population && (await openingFigures(edition, await publishedSeries(edition, population)));
  return new Map(opening?.figures.map(({ country, value }) => [country.iso3, value]));
}

const PEERS_MAX = 3;

/** Countries to compare with: those of the same subregion whose population is nearest. */
export async function findPeers(
  edition: Edition,
  { iso3, subregion }: CountryRecord,
): Promise<CountryRecord[]> {
  const people = await peopleByCountry(edition);
  const own = people.get(iso3);
  const distance = (peer: CountryRecord): number => {
    const other = people.get(peer.iso3);
    return own && other ? Math.abs(Math.log(other / own)) : Infinity;
  };
  return edition.countries
    .map(({ record }) => record)
    .filter((peer) => peer.subregion === subregion && peer.iso3 !== iso3)
    .sort((a, b) => (distance(a) === distance(b) ? 0 : distance(a) - distance(b)))
    .slice(0, PEERS_MAX);
}

/** By any usual code or name that means one country. */
export function findCountry(edition: Edition, sent: string): CountryRecord | undefined {
  const named = placeNamed(sent);
  return named.kind === 'country' ? edition.countriesByCode.get(named.iso3) : undefined;
}

/**
 * The places asked for, those that there are, in the order asked. Without any: some countries that readers know, with a
 * figure in the year that pages open on.
 * @param shown its first series decides
 */
export async function chosenPlaces(
  edition: Edition,
  { series: [first], groups }: Pick<ShownFigures, 'series' | 'groups'>,
  codes: readonly string[] | undefined,
): Promise<DrawnPlace[]> {
  const chosen = codes && codes.length > 0 ? codes : first ? await wellKnown(edition, first) : [];
  return chosen.flatMap((code) => findPlace(edition, code, groups) ?? []);
}

async function wellKnown(edition: Edition, series: ShownSeries): Promise<string[]> {
  const opening = await openingFigures(edition, series);
  return wellKnownFirst(opening?.figures.map(({ country }) => country.iso3) ?? []);
}

/** The same for countries alone, by their codes. */
export async function chosenCountries(
  edition: Edition,
  record: IndicatorRecord,
  codes: readonly string[] | undefined,
): Promise<string[]> {
  const shown = { series: [await publishedSeries(edition, record)], groups: new Map() };
  return (await chosenPlaces(edition, shown, codes)).map(({ code }) => code);
}
