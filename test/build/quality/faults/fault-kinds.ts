/**
 * Faults that real upstreams and editors make. Each takes a series, or declines one in which it would change nothing that
 * a reader could notice. Written without knowledge of the checks.
 */
import * as figures from './figure-faults.ts';
import * as labels from './label-faults.ts';
import { type FaultKind, isCount, isPercentage, type Plant } from './planting.ts';

/** A fault that anybody could tell without the night before and without a second series of the same statistic. */
const alone = (what: string, plant: Plant): FaultKind => ({ what, alone: true, plant });
const compared = (what: string, plant: Plant): FaultKind => ({ what, alone: false, plant });

export const UPSTREAM_FAULTS: Readonly<Record<string, FaultKind>> = {
  cell_times_10: alone('a figure is ten times too large', figures.cellTimes(10)),
  cell_times_100: alone('a figure is a hundred times too large', figures.cellTimes(100)),
  cell_tenth: alone('a figure is a tenth of what it should be', figures.cellTimes(0.1)),
  year_times_10: alone('all figures of a year are ten times too large', figures.yearTimes(10, false)),
  year_times_100: alone('all figures of a year are a hundred times too large', figures.yearTimes(100, false)),
  newest_year_tenth: alone('all figures of the newest year are a tenth', figures.yearTimes(0.1, true)),
  unit_from_year: alone('from a year on, figures are in another unit', figures.unitFromYear),
  share_as_fraction: alone('a percentage is given as a fraction of 1', figures.allTimes(0.01, isPercentage)),
  count_in_thousands: compared('a plain count is given in thousands', figures.allTimes(0.001, isCount)),
  unit_scale: compared(
    'a plain count is labelled thousands',
    labels.unit(/^(people|deaths|new cases|subscriptions)$/, 'thousands of $1'),
  ),
  unit_share: alone(
    'a percentage is labelled per 1,000 people',
    labels.unit(/^percent$/, 'per 1,000 people'),
  ),
  unit_duration: alone(
    'years are labelled months, or days',
    labels.firstOf(labels.unit(/^years$/, 'months'), labels.unit(/^years$/, 'days')),
  ),
  unit_area: alone(
    'an amount per hectare, or per person, is labelled as an amount',
    labels.firstOf(labels.unit(/ per hectare$/, ''), labels.unit(/ per person$/, '')),
  ),
  unit_rate_base: alone(
    'per 1,000 and per 100,000 are exchanged',
    labels.firstOf(labels.unit(/per 1,000\b/, 'per 100,000'), labels.unit(/per 100,000\b/, 'per 1,000')),
  ),
  price_base_dropped: alone(
    'constant prices name no base year',
    labels.firstOf(
      labels.unit(/^constant \d{4} /, 'constant '),
      labels.unit(/ at \d{4} prices/, ' at constant prices'),
    ),
  ),
  sign_flipped: alone('figures of a country have the wrong sign', figures.flipSigns),
  places_swapped: compared('two countries have exchanged their figures', figures.swapPlaces),
  years_shifted: compared('all figures stand a year too late', figures.shiftYears),
  copied_over: alone('a series has the figures of another', figures.copyOver),
  years_repeated: alone('the newest three years repeat the one before', figures.repeatYears),
  place_repeated: alone('a country repeats one figure for twelve years', figures.repeatPlace),
  block_lost: compared('a third of the countries lose some years', figures.losesBlock),
  place_twice: alone('a country stands twice in the file, with two sets of figures', figures.placeTwice),
  place_copied: alone('a country has the figures of another', figures.placeCopied),
  part_changed: alone('parts of a whole do not add up to 100 % any more', figures.partChanged),
  out_of_bounds: alone('a percentage is far above 100', figures.outOfBounds),
  decimal_comma: alone('figures of a country have a decimal comma', figures.decimalComma),
  thousands_slip: alone('a thousands separator was read as a decimal point', figures.thousandsSlip),
  place_lost: compared('a country has vanished', figures.losesPlace),
  returned_in_unit: compared(
    'a series vanished for a night and is back in another unit',
    figures.returnsInUnit,
  ),
  share_times_100: alone('a percentage is multiplied by 100', figures.allTimes(100, figures.isShareOfWhole)),
  places_times_100: alone(
    'one to three countries of a percentage are multiplied by 100',
    figures.placesTimes100,
  ),
  unit_share_of_one: alone(
    'a percentage is labelled a share of one',
    labels.unit(/^percent$/, 'share of one'),
  ),
  unit_currency: compared(
    'US dollars are labelled international dollars, or the reverse',
    labels.firstOf(
      labels.unit(/US(\$| dollars)/, 'international $1'),
      labels.unit(/international (\$|dollars)/, 'US$1'),
    ),
  ),
  label_of_other: alone('a series has name and unit of another', labels.labelOfOther),
  duplicate_series: alone('a series is another one again under another name', labels.duplicateSeries),
  flag_dropped: compared('projected years are not flagged any more', labels.flagDropped),
  two_places_left: alone('a series keeps one or two countries', labels.twoPlacesLeft),
  topic_changed: compared('a series stands under another topic', labels.topicChanged),
  direction_reversed: compared(
    'higher counts as better where lower did, or the reverse',
    labels.directionReversed,
  ),
  false_twin: alone('two series that differ are linked as one concept', labels.falseTwin),
  preferred_outdated: compared(
    'the preferred one of twins ends five or more years before the other',
    labels.preferredOutdated,
  ),
  featured_ended: alone('a featured series ended eight or more years ago', labels.featuredEnded),
  description_repeats_name: alone('the description is the name', labels.descriptionRepeatsName),
};
