/**
 * What the home page tells of an edition: four findings, chosen by rule among well-known series (featured, open, ranked, without
 * an open doubt or a break, agreeing with their twins, of no money of the day) and the most populous countries. Each says what
 * the figures of the API say, and no two are of one topic or begin with one country. Equal editions give equal findings.
 */
import type { PublicFinding } from '../../data/schema/quality.ts';
import type { CountryRecord, IndicatorRecord, IndicatorTwin } from '../../data/schema/records.ts';
import type { SeriesMeasure } from '../../data/schema/traits.ts';
import { escapedXml } from '../api/encoders/encoders.ts';
import type { CatalogueItem, Edition } from '../api/snapshot/snapshot.ts';
import { type Html, html } from '../web/templates.ts';
import { ASSET_PATHS } from './assets.ts';
import { cardChart, pageMap } from './charts/frame.ts';
import type { WorldMap } from './charts/map.ts';
import { columnDecimals, figureHtml, figureText } from './figures.ts';
import { linesWithTable } from './indicator/shown-figures.ts';
import { withQuery } from './lists.ts';
import { mapOfYear } from './pictures.ts';
import {
  asPlace,
  type CountryFigure,
  type History,
  histories,
  openingFigures,
  publishedSeries,
  type ShownSeries,
  yearFigures,
} from './series.ts';
import { peopleByCountry } from './subjects.ts';

/** How many of the most populous countries are looked at. */
const POPULOUS = 30;
/** A change is told over this many years. */
const SPAN = 20;
/** What changes by a larger factor began near nothing: every such change is called a great one. */
const FACTOR_MAX = 10;
const FACTOR_MIN = 1.5;
/** A record has so many figures behind it. */
const RECORD_MIN = 30;
/** The order of two countries held for so many years, changed lately, and has held since. */
const ORDER_MIN = 10;
const SINCE = { least: 2, most: 10 };
/** Share of the countries that must have both figures of a change. */
const COMPARED_MIN = 0.7;
/** The largest median difference from a twin that agrees. */
const TWIN_DIFFERENCE = 0.05;
const UNTOLD: ReadonlySet<SeriesMeasure['measure']> = new Set(['amount', 'price', 'growth', 'other']);

interface Highlight {
  record: IndicatorRecord;
  path: string;
  sentence: Html;
  lines: ReturnType<typeof linesWithTable> | null;
  /** Where no lines are drawn. */
  map: { picture: string; legend: WorldMap['legend'] } | null;
}

/** A series with the histories of the most populous countries, observed figures up to the year that pages open on. */
interface Candidate {
  item: CatalogueItem;
  series: ShownSeries;
  year: number;
  histories: readonly History[];
  /** By factor, the greatest first; empty where a direction, many countries or plausible factors are missing. */
  changes: readonly Change[];
  hasDirection: boolean;
}

interface Change {
  history: History;
  factor: number;
  isRise: boolean;
}

/** What one rule finds in a series. The largest score is told, compared number by number. */
interface Finding {
  candidate: Candidate;
  score: readonly number[];
  sentence: string;
  /** Empty for a map. */
  drawn: readonly History[];
}

/** In the order in which they choose. */
const RULES = [findCrossing, findShared, findChange, findRecord];

/** @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function chooseHighlights(edition: Edition): Promise<readonly Highlight[]> {
  const told = await toldSeries(edition);
  const people = told.length === 0 ? new Map<string, number>() : await peopleByCountry(edition);
  const countries = edition.countries
    .map(({ record }) => record)
    .sort((a, b) => (people.get(b.iso3) ?? 0) - (people.get(a.iso3) ?? 0))
    .slice(0, POPULOUS);
  const candidates: Candidate[] = [];
  for (const item of told) candidates.push(...(await readCandidate(edition, item, countries)));
  const chosen: Finding[] = [];
  for (const rule of RULES) {
    const found = (await Promise.all(candidates.map((candidate) => rule(candidate, edition))))
      .filter((finding) => finding !== null)
      .filter((finding) => !chosen.some((other) => isAlike(finding, other)))
      .sort((a, b) => compareScores(b.score, a.score));
    chosen.push(...found.slice(0, 1));
  }
  return Promise.all(chosen.map((finding, at) => asHighlight(edition, finding, `highlight-${at}`)));
}

/** In the curated order. @throws {SnapshotUnreadable} */
async function toldSeries(edition: Edition): Promise<CatalogueItem[]> {
  const catalogue = await edition.wholeCatalogue();
  const known = catalogue.ordered('topic', 'asc').filter(({ record, measured, opening }) => {
    const { featured, access_tier, no_rank, unit, coverage } = record;
    const isTold = featured && access_tier === 'open' && !no_rank && !/current/i.test(unit ?? '');
    const years = (opening?.year ?? 0) - (coverage?.yr_min ?? Infinity);
    return isTold && years >= SPAN && measured !== null && !UNTOLD.has(measured.measure);
  });
  if (known.length === 0) return [];
  const ids = known.map(({ record }) => record.id);
  const lists = await edition.additions(['quality', 'twins', 'breaks'], ids);
  return known.filter(({ record: { id, preferred } }) => {
    const findings: PublicFinding[] = JSON.parse(lists.json('quality', id));
    const twins: IndicatorTwin[] = JSON.parse(lists.json('twins', id));
    const isDoubted = findings.some(({ decision }) => decision === null) || lists.json('breaks', id) !== '[]';
    const agrees = twins.every(({ difference }) => (difference?.median ?? 0) <= TWIN_DIFFERENCE);
    return !isDoubted && agrees && (preferred || twins.length === 0);
  });
}

/** @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
async function readCandidate(
  edition: Edition,
  item: CatalogueItem,
  countries: readonly CountryRecord[],
): Promise<Candidate[]> {
  const series = await publishedSeries(edition, item.record);
  const { opening: year } = series;
  if (year === null) return [];
  const held = await histories(series, countries.map(asPlace));
  const observed = held.map(({ place, points }) => ({
    place,
    points: points.filter((point) => !point.projected && point.year <= year),
  }));
  const current = observed.filter(({ points }) => points.at(-1)?.year === year);
  const hasDirection = item.record.higher_is_better !== null;
  const changes = hasDirection ? changesOf(current, year, COMPARED_MIN * countries.length) : [];
  return [{ item, series, year, histories: current, changes, hasDirection }];
}

function changesOf(held: readonly History[], year: number, least: number): Change[] {
  const changes = held.flatMap((history): Change[] => {
    const [before = 0, now = 0] = [year - SPAN, year].map((at) => valueIn(history, at));
    if (before <= 0 || now <= 0) return [];
    return [{ history, factor: Math.max(now / before, before / now), isRise: now > before }];
  });
  const isPlausible = changes.every(({ factor }) => factor <= FACTOR_MAX);
  return isPlausible && changes.length >= least ? changes.sort((a, b) => b.factor - a.factor) : [];
}

const isAlike = (a: Finding, b: Finding): boolean =>
  a.candidate.item.record.topic === b.candidate.item.record.topic ||
  (a.drawn[0] !== undefined && a.drawn[0].place.code === b.drawn[0]?.place.code);

const compareScores = (a: readonly number[], b: readonly number[]): number =>
  a.map((score, at) => score - (b[at] ?? 0)).find((difference) => difference !== 0) ?? 0;

/** The most populous pair whose order changed lately after it had held for long. */
function findCrossing(candidate: Candidate): Finding | null {
  const { histories: held, year } = candidate;
  for (let sum = 1; sum < 2 * held.length - 2; sum += 1)
    for (let first = Math.max(0, sum - held.length + 1); first < sum - first; first += 1) {
      const pair = [held[first] as History, held[sum - first] as History] as const;
      const crossed = crossingOf(pair, year);
      if (crossed === null) continue;
      const [above, below] = crossed.isFirstAbove ? pair : [pair[1], pair[0]];
      const values = [above, below].map((history) => valueIn(history, year) ?? null);
      const decimals = columnDecimals(values);
      const [a, b] = values.map((value) => figureHtml(value, decimals));
      // Figures that look alike tell no order.
      if (figureText(values[0] ?? null, decimals) === figureText(values[1] ?? null, decimals)) continue;
      const names = [above, below].map(({ place }) => escapedXml(place.name));
      return {
        candidate,
        score: [-sum, crossed.since - crossed.from],
        sentence: `${names[0]} has been above ${names[1]} since ${crossed.since}, after being below it in every year from ${crossed.from} to ${crossed.since - 1}: ${a} against ${b} in ${year}.`,
        drawn: [above, below],
      };
    }
  return null;
}

/** Null where their order did not change lately, or did not hold for long before. */
function crossingOf([one, other]: readonly [History, History], year: number) {
  const others = new Map(other.points.map((point) => [point.year, point.value]));
  const signs = new Map(
    one.points.map((point) => [point.year, Math.sign(point.value - (others.get(point.year) ?? Number.NaN))]),
  );
  const now = signs.get(year);
  if (now !== 1 && now !== -1) return null;
  const startOf = (end: number, sign: number): number => {
    let start = end;
    while (signs.get(start - 1) === sign) start -= 1;
    return start;
  };
  const since = startOf(year, now);
  const held = year - since;
  if (held < SINCE.least || held > SINCE.most || signs.get(since - 1) !== -now) return null;
  const from = startOf(since - 1, -now);
  return since - from < ORDER_MIN ? null : { since, from, isFirstAbove: now === 1 };
}

/** The share of countries whose figures moved the same way. */
async function findShared(candidate: Candidate, edition: Edition): Promise<Finding | null> {
  const { series, year, changes } = candidate;
  if (changes.length === 0) return null;
  const isObserved = ({ projected }: CountryFigure): boolean => !projected;
  const now = (await openingFigures(edition, series))?.figures.filter(isObserved) ?? [];
  const { figures } = await yearFigures(edition, series, year - SPAN);
  const before = new Map(figures.filter(isObserved).map(({ country, value }) => [country.iso3, value]));
  const compared = now.filter(({ country }) => before.has(country.iso3));
  if (compared.length < COMPARED_MIN * now.length) return null;
  const countOf = (sign: number): number =>
    compared.filter(({ country, value }) => Math.sign(value - (before.get(country.iso3) ?? value)) === sign)
      .length;
  const [higher, lower] = [countOf(1), countOf(-1)];
  const most = Math.max(higher, lower);
  return {
    candidate,
    score: [most / compared.length, compared.length],
    sentence: `In ${most} of ${compared.length} countries it was ${higher > lower ? 'higher' : 'lower'} in ${year} than in ${year - SPAN}.`,
    drawn: [],
  };
}

/** The largest factor between two years. */
function findChange(candidate: Candidate): Finding | null {
  const { changes, year } = candidate;
  const [greatest] = changes;
  if (greatest === undefined || greatest.factor < FACTOR_MIN) return null;
  const { history, factor, isRise } = greatest;
  const [before, now] = [year - SPAN, year].map((at) => figureHtml(valueIn(history, at) ?? null));
  return {
    candidate,
    score: [factor],
    sentence: `In ${escapedXml(history.place.name)} it ${isRise ? 'rose' : 'fell'} from ${before} in ${year - SPAN} to ${now} in ${year}, the greatest relative change among ${changes.length} of the most populous countries.`,
    drawn: [history],
  };
}

/** The newest figure of the longest history that exceeds all others of its country. */
function findRecord(candidate: Candidate): Finding | null {
  const { histories: held, year, hasDirection } = candidate;
  if (!hasDirection) return null;
  const records = held.flatMap((history, at) => {
    const values = history.points.map(({ value }) => value);
    const now = values.at(-1) ?? Number.NaN;
    const earlier = values.slice(0, -1);
    const isHighest = earlier.every((value) => value < now);
    const isRecord = isHighest || earlier.every((value) => value > now);
    return isRecord && values.length >= RECORD_MIN ? [{ history, now, isHighest, at }] : [];
  });
  const [longest] = records.toSorted(
    (a, b) => b.history.points.length - a.history.points.length || a.at - b.at,
  );
  if (longest === undefined) return null;
  const { history, now, isHighest, at } = longest;
  return {
    candidate,
    score: [history.points.length, -at],
    sentence: `In ${escapedXml(history.place.name)} it was ${figureHtml(now)} in ${year}, the ${isHighest ? 'highest' : 'lowest'} of ${history.points.length} yearly figures since ${history.points[0]?.year}.`,
    drawn: [history],
  };
}

const valueIn = ({ points }: History, year: number): number | undefined =>
  points.find((point) => point.year === year)?.value;

async function asHighlight(
  edition: Edition,
  { candidate: { item, series }, sentence, drawn }: Finding,
  id: string,
): Promise<Highlight> {
  const codes = drawn.map(({ place }) => place.code).join();
  const path = withQuery(`/indicators/${item.record.id}`, { countries: codes });
  const told = { record: item.record, sentence: html(sentence), path };
  if (drawn.length > 0) return { ...told, lines: linesWithTable(series, drawn, id, cardChart), map: null };
  const opening = await openingFigures(edition, series);
  const map = opening && mapOfYear(series, opening, opening, { outlines: ASSET_PATHS.outlines });
  const picture = map && pageMap(map.drawing, map.labels, id);
  return { ...told, lines: null, map: picture ? { picture, legend: map.drawing.legend } : null };
}
