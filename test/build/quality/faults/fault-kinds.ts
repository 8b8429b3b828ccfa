/**
 * Faults that real upstreams and editors make. Each takes a series, or declines one in which it would change nothing that
 * a reader could notice. Written without knowledge of the checks.
 */
import * as figures from './figure-faults.ts';
import * as labels from './label-faults.ts';
import { type FaultKind, isCount, isPercentage } from './planting.ts';

export const UPSTREAM_FAULTS: Readonly<Record<string, FaultKind>> = {
  cell_times_10: { what: 'a figure is ten times too large', alone: true, plant: figures.cellTimes(10) },
  cell_times_100: {
    what: 'a figure is a hundred times too large',
    alone: true,
    plant: figures.cellTimes(100),
  },
  cell_tenth: {
    what: 'a figure is a tenth of what it should be',
    alone: true,
    plant: figures.cellTimes(0.1),
  },
  year_times_10: {
    what: 'all figures of a year are ten times too large',
    alone: true,
    plant: figures.yearTimes(10, false),
  },
  year_times_100: {
    what: 'all figures of a year are a hundred times too large',
    alone: true,
    plant: figures.yearTimes(100, false),
  },
  newest_year_tenth: {
    what: 'all figures of the newest year are a tenth',
    alone: true,
    plant: figures.yearTimes(0.1, true),
  },
  unit_from_year: {
    what: 'from a year on, figures are in another unit',
    alone: true,
    plant: figures.unitFromYear,
  },
  share_as_fraction: {
    what: 'a percentage is given as a fraction of 1',
    alone: true,
    plant: figures.allTimes(0.01, isPercentage),
  },
  count_in_thousands: {
    what: 'a plain count is given in thousands',
    alone: false,
    plant: figures.allTimes(0.001, isCount),
  },
  unit_scale: {
    what: 'a plain count is labelled thousands',
    alone: false,
    plant: labels.unit(/^(people|deaths|new cases|subscriptions)$/, 'thousands of $1'),
  },
  unit_share: {
    what: 'a percentage is labelled per 1,000 people',
    alone: true,
    plant: labels.unit(/^percent$/, 'per 1,000 people'),
  },
  unit_duration: {
    what: 'years are labelled months, or days',
    alone: true,
    plant: labels.firstOf(labels.unit(/^years$/, 'months'), labels.unit(/^years$/, 'days')),
  },
  unit_area: {
    what: 'an amount per hectare, or per person, is labelled as an amount',
    alone: true,
    plant: labels.firstOf(labels.unit(/ per hectare$/, ''), labels.unit(/ per person$/, '')),
  },
  unit_rate_base: {
    what: 'per 1,000 and per 100,000 are exchanged',
    alone: true,
    plant: labels.firstOf(
      labels.unit(/per 1,000\b/, 'per 100,000'),
      labels.unit(/per 100,000\b/, 'per 1,000'),
    ),
  },
  price_base_dropped: {
    what: 'constant prices name no base year',
    alone: true,
    plant: labels.firstOf(
      labels.unit(/^constant \d{4} /, 'constant '),
      labels.unit(/ at \d{4} prices/, ' at constant prices'),
    ),
  },
  sign_flipped: { what: 'figures of a country have the wrong sign', alone: true, plant: figures.flipSigns },
  places_swapped: {
    what: 'two countries have exchanged their figures',
    alone: false,
    plant: figures.swapPlaces,
  },
  years_shifted: { what: 'all figures stand a year too late', alone: false, plant: figures.shiftYears },
  copied_over: { what: 'a series has the figures of another', alone: true, plant: figures.copyOver },
  years_repeated: {
    what: 'the newest three years repeat the one before',
    alone: true,
    plant: figures.repeatYears,
  },
  place_repeated: {
    what: 'a country repeats one figure for twelve years',
    alone: true,
    plant: figures.repeatPlace,
  },
  block_lost: { what: 'a third of the countries lose some years', alone: false, plant: figures.losesBlock },
  place_twice: {
    what: 'a country stands twice in the file, with two sets of figures',
    alone: true,
    plant: figures.placeTwice,
  },
  place_copied: { what: 'a country has the figures of another', alone: true, plant: figures.placeCopied },
  part_changed: {
    what: 'parts of a whole do not add up to 100 % any more',
    alone: true,
    plant: figures.partChanged,
  },
  out_of_bounds: { what: 'a percentage is far above 100', alone: true, plant: figures.outOfBounds },
  decimal_comma: {
    what: 'figures of a country have a decimal comma',
    alone: true,
    plant: figures.decimalComma,
  },
  thousands_slip: {
    what: 'a thousands separator was read as a decimal point',
    alone: true,
    plant: figures.thousandsSlip,
  },
  place_lost: { what: 'a country has vanished', alone: false, plant: figures.losesPlace },
  returned_in_unit: {
    what: 'a series vanished for a night and is back in another unit',
    alone: false,
    plant: figures.returnsInUnit,
  },
  share_times_100: {
    what: 'a percentage is multiplied by 100',
    alone: true,
    plant: figures.allTimes(100, figures.isShareOfWhole),
  },
  places_times_100: {
    what: 'one to three countries of a percentage are multiplied by 100',
    alone: true,
    plant: figures.placesTimes100,
  },
  unit_share_of_one: {
    what: 'a percentage is labelled a share of one',
    alone: true,
    plant: labels.unit(/^percent$/, 'share of one'),
  },
  unit_currency: {
    what: 'US dollars are labelled international dollars, or the reverse',
    alone: false,
    plant: labels.firstOf(
      labels.unit(/US(\$| dollars)/, 'international $1'),
      labels.unit(/international (\$|dollars)/, 'US$1'),
    ),
  },
  label_of_other: { what: 'a series has name and unit of another', alone: true, plant: labels.labelOfOther },
  duplicate_series: {
    what: 'a series is another one again under another name',
    alone: true,
    plant: labels.duplicateSeries,
  },
  flag_dropped: {
    what: 'projected years are not flagged any more',
    alone: false,
    plant: labels.flagDropped,
  },
  two_places_left: { what: 'a series keeps one or two countries', alone: true, plant: labels.twoPlacesLeft },
  topic_changed: { what: 'a series stands under another topic', alone: false, plant: labels.topicChanged },
  direction_reversed: {
    what: 'higher counts as better where lower did, or the reverse',
    alone: false,
    plant: labels.directionReversed,
  },
  false_twin: {
    what: 'two series that differ are linked as one concept',
    alone: true,
    plant: labels.falseTwin,
  },
  preferred_outdated: {
    what: 'the preferred one of twins ends five or more years before the other',
    alone: false,
    plant: labels.preferredOutdated,
  },
  featured_ended: {
    what: 'a featured series ended eight or more years ago',
    alone: true,
    plant: labels.featuredEnded,
  },
  description_repeats_name: {
    what: 'the description is the name',
    alone: true,
    plant: labels.descriptionRepeatsName,
  },
};
