/**
 * Plants faults into good data: which series, by a seed. A series has at most one fault, and no fault touches the twin
 * of another, so that each finding belongs to one fault.
 */
import { FAULT_KINDS, type FaultKind } from './fault.ts';
import type { GoodData, GoodSeries } from './good-data.ts';
import * as coverage from './plant-coverage.ts';
import * as figures from './plant-figures.ts';
import * as twins from './plant-twins.ts';
import * as units from './plant-units.ts';
import { seededRandom } from './random.ts';
import type { Changes, Planted, Planter, Tools } from './tools.ts';

const PLANTERS: Record<FaultKind, Planter> = {
  unit_share_of_one: units.unitShareOfOne,
  share_as_fraction: units.shareAsFraction,
  share_times_100: units.shareTimes100,
  share_times_100_countries: units.shareTimes100Countries,
  unit_scale: units.unitScale,
  figures_scale: units.figuresScale,
  unit_rate_base: units.unitRateBase,
  unit_currency: units.unitCurrency,
  label_of_other: units.labelOfOther,
  figures_of_other: units.figuresOfOther,
  flag_dropped: figures.flagDropped,
  twin_shifted: twins.twinShifted,
  places_lost_provider: coverage.placesLostProvider,
  places_lost_series: coverage.placesLostSeries,
  two_countries_left: coverage.twoCountriesLeft,
  sign_flipped: figures.signFlipped,
  decimal_slipped: figures.decimalSlipped,
  countries_swapped: figures.countriesSwapped,
  level_break: figures.levelBreak,
  twin_direction: twins.twinDirection,
  twin_topic: twins.twinTopic,
  twins_featured: twins.twinsFeatured,
  preferred_outdated: twins.preferredOutdated,
  featured_ended: coverage.featuredEnded,
  empty_rows: coverage.emptyRows,
  duplicate_series: units.duplicateSeries,
  base_year_dropped: units.baseYearDropped,
  description_repeats_name: units.descriptionRepeatsName,
  false_twin: twins.falseTwin,
};

const KINDS = Object.keys(FAULT_KINDS) as FaultKind[];

/** What fits few series is planted first. The rest follows in the order of `FAULT_KINDS`. */
const SCARCE: readonly FaultKind[] = [
  'places_lost_provider',
  'base_year_dropped',
  'flag_dropped',
  'twins_featured',
  'preferred_outdated',
  'twin_direction',
  'twin_topic',
  'twin_shifted',
  'unit_currency',
  'unit_scale',
  'figures_scale',
  'false_twin',
];
/** At most so many, since each touches all series of a provider. */
const MOST_PROVIDERS = 2;
/** A provider with more series than this share of all keeps its places: too few untouched series would be left. */
const LARGE_PROVIDER = 0.1;

export interface PlantOptions {
  seed: number;
  /** How many faults. */
  count: number;
  /** Series that are not good: they have an open finding already. */
  avoid?: ReadonlySet<string>;
  /** Only these kinds. */
  kinds?: readonly FaultKind[];
}

export async function plantFaults(data: GoodData, options: PlantOptions): Promise<Planted[]> {
  const { seed, count, avoid = new Set<string>(), kinds = KINDS } = options;
  const tools: Tools = { random: seededRandom(seed), data };
  const taken = new Set(avoid);
  const planted: Planted[] = [];
  const order = [
    ...SCARCE.filter((kind) => kinds.includes(kind)),
    ...kinds.filter((kind) => !SCARCE.includes(kind)),
  ];
  // What a kind could not plant is shared among those that follow, and again until nothing fits.
  for (let before = -1; planted.length < count && planted.length > before; ) {
    before = planted.length;
    for (const [at, kind] of order.entries()) {
      const share = Math.ceil((count - planted.length) / (order.length - at));
      const most = kind === 'places_lost_provider' ? MOST_PROVIDERS - countOf(planted, kind) : share;
      planted.push(...(await plantKind(kind, Math.min(share, most), tools, taken)));
    }
  }
  return planted;
}

const countOf = (planted: readonly Planted[], kind: FaultKind): number =>
  planted.filter(({ fault }) => fault.kind === kind).length;

/** Plants up to `wanted` faults of a kind, and marks what they touch as taken. */
async function plantKind(
  kind: FaultKind,
  wanted: number,
  tools: Tools,
  taken: Set<string>,
): Promise<Planted[]> {
  const { data, random } = tools;
  const planted: Planted[] = [];
  for (const id of random.shuffle([...data.series.keys()])) {
    if (planted.length >= wanted) break;
    const series = data.get(id);
    if (taken.has(id) || (kind === 'places_lost_provider' && isLarge(data, series))) continue;
    const one = await PLANTERS[kind](series, tools);
    if (!one) continue;
    const touched = touchedBy(one.changes, data);
    const concerned = one.fault.other === null ? touched : [...touched, one.fault.other];
    if (concerned.some((other) => taken.has(other))) continue;
    planted.push(one);
    for (const other of concerned) taken.add(other);
    for (const twin of touched.flatMap((other) => (data.series.has(other) ? data.twinsOf(other) : [])))
      taken.add(twin.id);
  }
  return planted;
}

function isLarge({ series }: GoodData, { providerId }: GoodSeries): boolean {
  const own = [...series.values()].filter((one) => one.providerId === providerId).length;
  return own > LARGE_PROVIDER * series.size;
}

/** Ids of all series whose figures or labels a fault changes. */
export function touchedBy(changes: Changes, data: GoodData): string[] {
  const { figures: replaced = {}, labels = {}, settings = {}, added, lost, linked = [] } = changes;
  const ofProvider = [...data.series.values()].filter(({ providerId }) => providerId === lost?.provider);
  return [
    ...new Set([
      ...Object.keys(replaced),
      ...Object.keys(labels),
      ...Object.keys(settings),
      ...(added ? [added.id, added.like] : []),
      ...ofProvider.map(({ id }) => id),
      ...linked,
    ]),
  ];
}
