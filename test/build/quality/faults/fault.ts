/**
 * The kinds of faults that are planted, and by which criterion each can be told. The criteria were written from the
 * issue and from the providers' data before any check existed. They ask what a careful reader could know:
 *
 * - `compared`: the night before published the same series without the fault;
 * - `alone`: there is no night before. Then only a contradiction tells: between figures and unit, unit and name, a
 *   country's years, or a series and its twin.
 *
 * A twin tells when both have a value for at least 100 countries and years of 10 countries, agreed within 10 % before
 * the fault, and differ by more than 30 % after it (`Tools.twinTells`).
 */

export const FAULT_KINDS = {
  unit_share_of_one: {
    what: 'a percentage is labelled a share of one',
    alone: 'a value is above one',
  },
  share_as_fraction: {
    what: 'a percentage is divided by 100 under its label',
    alone: 'all values lie within 0 and 1 and the greatest is above 0.9, or a twin tells',
  },
  share_times_100: {
    what: 'a percentage is multiplied by 100',
    alone:
      'it is a share of a whole and a value is above 100, half of the values are above 1,000, or a twin tells',
  },
  share_times_100_countries: {
    what: 'one to three countries of a percentage are multiplied by 100',
    alone: 'it is a share of a whole and a value of theirs is above 100, or a twin tells of one of them',
  },
  unit_scale: {
    what: 'a plain count or amount is labelled thousands or millions',
    alone: 'more people than live or dollars than there are, or a twin tells',
  },
  figures_scale: {
    what: 'a plain count or amount is multiplied by 1,000 or divided by it',
    alone: 'more people than live or dollars than there are, or a twin tells',
  },
  unit_rate_base: {
    what: 'a rate per 1,000 is labelled per 100,000, or the reverse',
    alone: 'the name states the base, a value is above the base, or a twin tells',
  },
  unit_currency: {
    what: 'international dollars are labelled US dollars, or the reverse',
    alone: 'the name states the currency, or a twin tells',
  },
  label_of_other: {
    what: 'a series has name and unit of another',
    alone: 'both are published, with one name and unit, and their figures differ',
  },
  figures_of_other: {
    what: 'two series have exchanged their figures',
    alone: 'a value is beyond what the unit allows, or a twin tells',
  },
  flag_dropped: {
    what: 'projected years are not flagged any more',
    alone: 'some lie after the current year, or a twin flags at least 30 of the same countries and years',
  },
  twin_shifted: {
    what: 'a series is shifted by one year',
    alone: 'its twin then differs at least three times as much, and by 0.2 % or more',
  },
  places_lost_provider: {
    what: 'a provider loses countries, whose codes it does not know any more',
    alone: 'the run names them among unknown places',
  },
  places_lost_series: {
    what: 'a series loses a tenth to a third of its countries',
    alone: 'never',
  },
  two_countries_left: { what: 'a series keeps one or two countries', alone: 'always' },
  sign_flipped: {
    what: 'some values have the wrong sign',
    alone: 'its other values, at least 300, are all positive',
  },
  decimal_slipped: {
    what: 'one to three years of a country are multiplied by ten',
    alone:
      'the country has three years before and after, and never doubles or halves within a year otherwise',
  },
  countries_swapped: {
    what: 'two countries have exchanged their figures',
    alone: 'a twin tells of one of them',
  },
  level_break: {
    what: 'the unit changes from one year on, by 10 to 1,000',
    alone: 'at least 10 countries have both years, and half of them change by less than a fifth otherwise',
  },
  twin_direction: { what: 'the direction contradicts the twin', alone: 'always' },
  twin_topic: { what: 'the topic contradicts the twin', alone: 'always' },
  twins_featured: { what: 'both twins are featured', alone: 'always' },
  preferred_outdated: {
    what: 'the preferred one of twins ends five or more years before the other',
    alone: 'always',
  },
  featured_ended: { what: 'a featured series ended eight or more years ago', alone: 'always' },
  empty_rows: { what: 'countries and years without any figure are sold as rows', alone: 'always' },
  duplicate_series: { what: 'a series is published again under another name', alone: 'always' },
  base_year_dropped: {
    what: 'constant prices name no base year',
    alone: 'the name does not state it either',
  },
  description_repeats_name: { what: 'the description is the name', alone: 'always' },
  false_twin: {
    what: 'two series that differ are linked as one concept',
    alone: 'they have 100 common points of 10 countries and differ by more than 30 %',
  },
} as const satisfies Record<string, { what: string; alone: string }>;
export type FaultKind = keyof typeof FAULT_KINDS;

export interface Fault {
  kind: FaultKind;
  provider: string;
  /** Null for a whole provider. */
  series: string | null;
  /** The other series of a fault on two. */
  other: string | null;
  told: { compared: boolean; alone: boolean };
  /** What was done, with the numbers. */
  note: string;
}
