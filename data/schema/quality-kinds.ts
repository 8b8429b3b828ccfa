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

/** The closed list of kinds. Checks in `build/quality/checks` produce them. */
export const QUALITY_KINDS = {
  share_out_of_range: {
    severity: 'error',
    about: 'Values below 0 or above 100 in a series whose unit is a share of a whole.',
    extent: 'values out of range',
  },
  provider_places_lost: {
    severity: 'error',
    about: 'Countries that a provider had, or names in its files, without a figure of it any more.',
    extent: 'countries',
  },
  provider_places_unknown: {
    severity: 'notice',
    about: 'Rows of a provider were left out because their place is on no list.',
    extent: 'places',
  },
  run_held: {
    severity: 'warning',
    about: 'The newest run of a provider is held: figures of an earlier one are published.',
    extent: 'runs',
  },
  run_failed: {
    severity: 'warning',
    about: 'The newest run of a provider failed: figures of an earlier one are published.',
    extent: 'runs',
  },
  series_failed: {
    severity: 'warning',
    about: 'A series could not be read: an earlier one is published, or none.',
    extent: 'rows left out',
  },
  values_out_of_bounds: {
    severity: 'error',
    about: 'Values outside the bounds that `data/` sets for a series were left out: they are gaps now.',
    extent: 'values left out',
  },
  years_flagged_by_clock: {
    severity: 'warning',
    about: 'Years count as projected only because they lie ahead: no rule of the definition says so.',
    extent: 'years',
  },
  unit_contradicts_name: {
    severity: 'error',
    about: 'The unit tells another measure, base, denominator, currency or prices than the name.',
    extent: 'contradictions',
  },
  label_contradicts_source: {
    severity: 'error',
    about:
      'Name or unit say something else than the slug, the name or the unit that upstream gave the series.',
    extent: 'contradictions',
  },
  description_of_another: {
    severity: 'warning',
    about: 'The description shares no word with the name.',
    extent: 'always 1',
  },
  description_uninformative: {
    severity: 'notice',
    about: 'The description only repeats the name, or a featured series has none.',
    extent: 'always 1',
  },
  direction_contradicts_name: {
    severity: 'error',
    about: 'Higher counts as better for what the name calls a harm, or as worse for what it calls a benefit.',
    extent: 'always 1',
  },
  topic_contradicts_name: {
    severity: 'warning',
    about: 'The name has words of another topic, and none of its own.',
    extent: 'always 1',
  },
  unit_missing: { severity: 'warning', about: 'The series has no unit.', extent: 'always 1' },
  price_basis_missing: {
    severity: 'warning',
    about: 'The unit is money, but tells neither current prices nor the year of constant ones.',
    extent: 'always 1',
  },
  label_repeated: {
    severity: 'warning',
    about: 'Two series of a provider have the same name and unit.',
    extent: 'always 1',
  },
  label_changed: {
    severity: 'warning',
    about: 'The label changed since the snapshot before, while the figures stayed as they were.',
    extent: 'fields that changed',
  },
  level_changed: {
    severity: 'error',
    about:
      'The figures moved to another level since the snapshot before, while name and unit stayed as they were.',
    extent: 'factor',
    lasts: true,
  },
  figures_out_of_stated_range: {
    severity: 'error',
    about: 'Figures outside the range that name or unit state.',
    extent: 'distance from the range',
  },
  size_contradicts_unit: {
    severity: 'error',
    about: 'The unit is a rate, but the figures grow with the population, or it is a total, and they do not.',
    extent: 'hundredths of the rank correlation with population, away from what the unit implies',
  },
  same_figures_other_label: {
    severity: 'error',
    about: 'Two series have the same figures, but labels that contradict each other.',
    extent: '% of common figures that are the same',
  },
  scale_contradicts_unit: {
    severity: 'error',
    about: 'Two series have the same digits, but powers of ten apart that their units do not explain.',
    extent: 'powers of ten',
  },
  rate_of_another_total: {
    severity: 'error',
    about: 'A rate is the total of another series by the population, but their labels contradict each other.',
    extent: 'contradictions',
  },
  conversion_contradicts_label: {
    severity: 'error',
    about: 'US dollars at market rates that are called international dollars, or the reverse.',
    extent: 'always 1',
  },
  base_year_contradicts_label: {
    severity: 'error',
    about: 'Constant prices whose base year is not the one named, or that are called current.',
    extent: 'years',
  },
  twins_differ_in_direction: {
    severity: 'warning',
    about: 'Series of one concept, for one of which higher is better and for the other not.',
    extent: 'always 1',
  },
  twins_differ_in_topic: {
    severity: 'warning',
    about: 'Series of one concept that stand under different topics.',
    extent: 'always 1',
  },
  twins_differ_in_unit: {
    severity: 'warning',
    about:
      'Series of one concept whose units or names contradict each other: reported and estimated, other prices.',
    extent: 'contradictions',
  },
  twins_differ_in_projection: {
    severity: 'warning',
    about: 'Series of one concept, one of which projects countries and years that the other observes.',
    extent: 'figures',
  },
  twins_both_featured: {
    severity: 'notice',
    about: 'Series of one concept that are both featured.',
    extent: 'always 1',
  },
  unreviewed_twin: {
    severity: 'notice',
    about:
      'Two series agree in name, unit and figures, and nobody has reviewed whether they are one concept.',
    extent: 'always 1',
  },
  preferred_older_than_twin: {
    severity: 'warning',
    about: 'The preferred series of a concept ends before another one.',
    extent: 'years',
  },
  preferred_not_published: {
    severity: 'warning',
    about: 'The preferred series of a concept is not published, but others of it are.',
    extent: 'published series of the concept',
  },
  negative_value: {
    severity: 'error',
    about: 'Negative values of what is counted or measured.',
    extent: 'negative values',
  },
  magnitude_contradicts_unit: {
    severity: 'error',
    about:
      'The figures as a whole do not fit the unit: per cent that are fractions of 1, billions that are units.',
    extent: 'values of the series',
  },
  more_than_population: {
    severity: 'error',
    about: 'A country has more than twice as many people of a kind as inhabitants.',
    extent: 'countries',
  },
  figures_not_checked: {
    severity: 'error',
    about: 'The figures cannot be checked: some are too large or too small to compute with.',
    extent: 'values that cannot be computed with',
  },
  decimal_slip: {
    severity: 'error',
    about: 'Single values off by a power of ten against the years around them.',
    extent: 'values',
  },
  unit_change: {
    severity: 'error',
    about: 'From one year on, most countries change by the same large factor.',
    extent: 'years',
  },
  sign_flip: {
    severity: 'error',
    about: 'Single negative values between positive ones of the same size.',
    extent: 'values',
  },
  isolated_value: {
    severity: 'warning',
    about:
      'Single values far from the years around them, in a series and a country where such a jump is unknown.',
    extent: 'values',
  },
  level_break: {
    severity: 'warning',
    about: 'A country changes its level from one year to the next as no other does, and stays there.',
    extent: 'breaks',
  },
  frozen_values: {
    severity: 'warning',
    about: 'A country repeats one exact value for many years, as if it were carried forward.',
    extent: 'repeated values',
  },
  country_outlier: {
    severity: 'warning',
    about: 'The latest value of a country lies more than a power of ten beyond all others.',
    extent: 'countries',
  },
  few_countries: {
    severity: 'notice',
    about: 'A series with one or two countries.',
    extent: 'countries that are missing to three',
  },
  series_ended: {
    severity: 'warning',
    about: 'A featured or preferred series whose newest observed value is years old.',
    extent: 'years since the newest observed value',
  },
  mostly_empty: {
    severity: 'warning',
    about: 'More than a third of the rows of a series have no value.',
    extent: 'rows without a value',
  },
  duplicate_series: {
    severity: 'warning',
    about: 'Two series with equal figures under different names.',
    extent: 'equal values',
  },
  series_places_lost: {
    severity: 'error',
    about: 'Countries that the series had the night before have no value any more.',
    extent: 'countries',
  },
  newest_year_back: {
    severity: 'error',
    about: 'The newest observed year is earlier than the night before.',
    extent: 'years',
  },
  projections_unflagged: {
    severity: 'error',
    about: 'Figures that were projected the night before count as observed.',
    extent: 'rows',
  },
  history_rewritten: {
    severity: 'warning',
    about: 'A large share of the past values differs from the night before.',
    extent: 'values that changed by more than 5 %',
  },
  series_renamed: {
    severity: 'warning',
    about: 'A series vanished and another has its figures: a rename that is not in `data/aliases.csv`.',
    extent: '% of the vanished figures',
  },
  alias_unfit: {
    severity: 'warning',
    about: 'An alias leads to an id that is not there, or from one that is in use or that no snapshot had.',
    extent: 'always 1',
  },
  twin_scale: {
    severity: 'error',
    about: 'Two series of one concept differ by a power of ten, as a whole or for single countries.',
    extent: 'countries',
  },
  twin_shift: {
    severity: 'error',
    about: 'Two series of one concept agree when one of them is moved by a year.',
    extent: 'countries',
  },
  twin_disagreement: {
    severity: 'warning',
    about: 'Two series of one concept differ by more than revisions explain.',
    extent: 'countries',
  },
} as const satisfies Record<string, QualityKind>;
export type QualityKindName = keyof typeof QUALITY_KINDS;
const KIND_NAMES = Object.keys(QUALITY_KINDS) as [QualityKindName, ...QualityKindName[]];
export const qualityKind = z.enum(KIND_NAMES);
export const LASTING_KINDS = KIND_NAMES.filter((kind) => 'lasts' in QUALITY_KINDS[kind]);
