/** The kinds of findings of the quality report: what the nightly build can doubt, and how grave that is. */
import { z } from 'zod';

/** `error`: a figure or label that is most likely wrong. `warning`: may mislead a reader. `notice`: worth knowing. */
export const qualitySeverity = z.enum(['error', 'warning', 'notice']);
type QualitySeverity = z.infer<typeof qualitySeverity>;

interface QualityKind {
  severity: QualitySeverity;
  /** What is found, as a sentence for operators and readers. */
  about: string;
  /** What `extent` counts or measures; a greater extent is worse. */
  extent: string;
  /** Told by comparison with the night before, so it is found once; it stands until a person has decided about it. */
  lasts?: true;
}

const kind =
  <Severity extends QualitySeverity>(severity: Severity) =>
  (about: string, extent = 'always 1') => ({ severity, about, extent });
const [error, warning, notice] = [kind('error'), kind('warning'), kind('notice')];

/** The closed list of kinds. Checks in `build/quality/checks` produce them. */
export const QUALITY_KINDS = {
  share_out_of_range: error(
    'Values below 0 or above 100 in a series whose unit is a share of a whole.',
    'values out of range',
  ),
  provider_places_lost: error(
    'Countries that a provider had, or names in its files, without a figure of it any more.',
    'countries',
  ),
  provider_places_unknown: notice(
    'Rows of a provider were left out because their place is on no list.',
    'places',
  ),
  run_held: warning('The newest run of a provider is held: figures of an earlier one are published.', 'runs'),
  run_failed: warning(
    'The newest run of a provider failed: figures of an earlier one are published.',
    'runs',
  ),
  series_failed: warning(
    'A series could not be read: an earlier one is published, or none.',
    'rows left out',
  ),
  values_out_of_bounds: error(
    'Values outside the bounds that `data/` sets for a series were left out: they are gaps now.',
    'values left out',
  ),
  values_unreadable: error(
    'Cells that look like figures, such as `12,5`, could not be read: they are gaps now.',
    'cells left out',
  ),
  years_flagged_by_clock: warning(
    'Years count as projected only because they lie ahead: no rule of the definition says so.',
    'years',
  ),
  unit_contradicts_name: error(
    'The unit tells another measure, base, denominator, currency or prices than the name.',
    'contradictions',
  ),
  label_contradicts_source: error(
    'Name or unit say something else than the slug, the name or the unit that upstream gave the series.',
    'contradictions',
  ),
  description_of_another: warning('The description shares no word with the name.'),
  description_uninformative: notice('The description only repeats the name, or a featured series has none.'),
  direction_contradicts_name: error(
    'Higher counts as better for what the name calls a harm, or as worse for what it calls a benefit.',
  ),
  topic_contradicts_name: warning('The name has words of another topic, and none of its own.'),
  unit_missing: warning('The series has no unit.'),
  price_basis_missing: warning(
    'The unit is money, but tells neither current prices nor the year of constant ones.',
  ),
  label_repeated: warning('Two series of a provider have the same name and unit.'),
  label_changed: warning(
    'The label changed since the snapshot before, while the figures stayed as they were.',
    'fields that changed',
  ),
  level_changed: {
    ...error(
      'The figures moved to another level since the snapshot before, while name and unit stayed as they were.',
      'factor',
    ),
    lasts: true,
  },
  figures_out_of_stated_range: error(
    'Figures outside the range that name or unit state.',
    'distance from the range',
  ),
  size_contradicts_unit: error(
    'The unit is a rate, but the figures grow with the population, or it is a total, and they do not.',
    'hundredths of the rank correlation with population, away from what the unit implies',
  ),
  same_figures_other_label: error(
    'Two series have the same figures, but labels that contradict each other.',
    '% of common figures that are the same',
  ),
  scale_contradicts_unit: error(
    'Two series have the same digits, but powers of ten apart that their units do not explain.',
    'powers of ten',
  ),
  rate_of_another_total: error(
    'A rate is the total of another series by the population, but their labels contradict each other.',
    'contradictions',
  ),
  conversion_contradicts_label: error(
    'US dollars at market rates that are called international dollars, or the reverse.',
  ),
  base_year_contradicts_label: error(
    'Constant prices whose base year is not the one named, or that are called current.',
    'years',
  ),
  twins_differ_in_direction: warning(
    'Series of one concept, for one of which higher is better and for the other not.',
  ),
  twins_differ_in_topic: warning('Series of one concept that stand under different topics.'),
  twins_differ_in_unit: warning(
    'Series of one concept whose units or names contradict each other: reported and estimated, other prices.',
    'contradictions',
  ),
  twins_differ_in_projection: warning(
    'Series of one concept, one of which projects countries and years that the other observes.',
    'figures',
  ),
  twins_both_featured: notice('Series of one concept that are both featured.'),
  unreviewed_twin: notice(
    'Two series agree in name, unit and figures, and nobody has reviewed whether they are one concept.',
  ),
  preferred_older_than_twin: warning('The preferred series of a concept ends before another one.', 'years'),
  preferred_not_published: warning(
    'The preferred series of a concept is not published, but others of it are.',
    'published series of the concept',
  ),
  measure_undecided: notice('Nobody has decided what the series measures: no figures are derived from it.'),
  measure_unfit: warning(
    'What `data/measures.csv` says contradicts the unit, or weighs by a series that is not published for export.',
    'contradictions',
  ),
  aggregate_deviates: warning(
    'Figures of groups deviate by more than 1 % from those that the provider publishes.',
    '95th percentile of the deviation in %',
  ),
  parts_not_whole: error(
    'Shares that add up to 100 % nearly everywhere do not in some countries and years.',
    'sums',
  ),
  negative_value: error('Negative values of what is counted or measured.', 'negative values'),
  magnitude_contradicts_unit: error(
    'The figures as a whole do not fit the unit: per cent that are fractions of 1, billions that are units.',
    'values of the series',
  ),
  more_than_population: error(
    'A country has more than twice as many people of a kind as inhabitants.',
    'countries',
  ),
  figures_not_checked: error(
    'The figures cannot be checked: some are too large or too small to compute with.',
    'values that cannot be computed with',
  ),
  decimal_slip: error('Single values off by a power of ten against the years around them.', 'values'),
  unit_change: error('From one year on, most countries change by the same large factor.', 'years'),
  sign_flip: error('Single negative values between positive ones of the same size.', 'values'),
  isolated_value: warning(
    'Single values far from the years around them, in a series and a country where such a jump is unknown.',
    'values',
  ),
  level_break: warning(
    'A country changes its level from one year to the next as no other does, and stays there.',
    'breaks',
  ),
  frozen_values: warning(
    'A country repeats one exact value for many years, or most countries repeat those of the year before.',
    'repeated values',
  ),
  same_figures_places: warning('Two countries have the same figures in all years.', 'countries'),
  country_outlier: warning(
    'The latest value of a country lies more than a power of ten beyond all others.',
    'countries',
  ),
  few_countries: notice('A series with one or two countries.', 'countries that are missing to three'),
  series_ended: warning(
    'A featured or preferred series whose newest observed value is years old.',
    'years since the newest observed value',
  ),
  mostly_empty: warning('More than a third of the rows of a series have no value.', 'rows without a value'),
  duplicate_series: warning('Two series with equal figures under different names.', 'equal values'),
  series_places_lost: error(
    'Countries that the series had the night before have no value any more.',
    'countries',
  ),
  newest_year_back: error('The newest observed year is earlier than the night before.', 'years'),
  projections_unflagged: error('Figures that were projected the night before count as observed.', 'rows'),
  history_rewritten: warning(
    'The past differs from the night before: most values of the series, a country or a year, values that moved by a year, repeat the year before, or are off by a power of ten or in sign.',
    'values that changed',
  ),
  values_lost: warning(
    'Values that the series had the night before are gone, of countries that still have others.',
    'values',
  ),
  series_renamed: warning(
    'A series vanished and another has its figures: a rename that is not in `data/aliases.csv`.',
    '% of the vanished figures',
  ),
  check_failed: error(
    'A check of the quality report failed: what it found the night before stands.',
    'checks',
  ),
  alias_unfit: warning(
    'An alias leads to an id that is not there, or from one that is in use or that no snapshot had.',
  ),
  twin_scale: error(
    'Two series of one concept differ by a power of ten, as a whole or for single countries.',
    'countries',
  ),
  twin_shift: error('Two series of one concept agree when one of them is moved by a year.', 'countries'),
  twin_disagreement: warning('Two series of one concept differ by more than revisions explain.', 'countries'),
} as const satisfies Record<string, QualityKind>;
export type QualityKindName = keyof typeof QUALITY_KINDS;
const KIND_NAMES = Object.keys(QUALITY_KINDS) as [QualityKindName, ...QualityKindName[]];
export const qualityKind = z.enum(KIND_NAMES);
export const LASTING_KINDS = KIND_NAMES.filter((kind) => 'lasts' in QUALITY_KINDS[kind]);
