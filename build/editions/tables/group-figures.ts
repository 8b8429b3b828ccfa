/**
 * Writes the figures of groups of countries, a file for each series whose figures aggregate, from the published figures of
 * their members. A file of the base edition is linked where neither a figure, nor a divisor, nor a group changed.
 */
import { hash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import type { Curated } from '../../../data/curated/curated.ts';
import { membersOf } from '../../../data/curated/places.ts';
import {
  containmentsOf,
  type GroupFigure,
  type GroupMember,
  groupFigures,
  type YearValues,
  yearValues,
} from '../../../data/derived/aggregate.ts';
import { packJson, unpackJson } from '../../../data/runtime/durable-files.ts';
import { inParallel } from '../../../data/runtime/in-parallel.ts';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import {
  type AggregateDeviation,
  type EditionGroups,
  type GroupColumns,
  groupFiguresFile,
  type StoredGroups,
  storedGroups,
} from '../../../data/schema/groups.ts';
import { iso3 } from '../../../data/schema/records.ts';
import type { SeriesMeasure } from '../../../data/schema/traits.ts';
import type { MeasuredSeries } from '../../quality/quality.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';
import type { PlannedIndicator, SnapshotPlan } from '../plan/plan-snapshot.ts';
import { type BaseEdition, linkUnchanged } from './file-writer.ts';
import { batchIndicators, filesOf } from './materialise.ts';

const sql = sqlOf(import.meta.url);

/** Increment when the same figures give others of groups. */
const GROUPS_VERSION = 1;
/** Fewer members are no group. */
const FEWEST_MEMBERS = 3;
/** Compression takes most of the time, on the thread pool. */
const PARALLEL = 4;

/** The groups of an edition: those with three members or more, by id. */
export function groupsIn({
  groups,
  countries,
  territories,
}: Pick<Curated, 'groups' | 'countries' | 'territories'>): EditionGroups {
  const served = countries.filter(({ enabled }) => enabled);
  return {
    groups: groups
      .map((group) => {
        const { id, name, source, as_of } = group;
        return { id, name, source, as_of, members: membersOf(group, served) };
      })
      .filter(({ members }) => members.length >= FEWEST_MEMBERS)
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
    territories,
  };
}

/** In points rather than relative to it: a rate or a growth near nothing. */
const NEAR_ZERO = 1;

function deviationFrom(
  theirs: PlannedIndicator['aggregates'],
  ours: StoredGroups['groups'],
  measure: SeriesMeasure['measure'],
): AggregateDeviation | null {
  const least = measure === 'rate' || measure === 'growth' ? NEAR_ZERO : 0;
  const deviations = Object.entries(theirs).flatMap(([group, figures]) => {
    const own = ours[group];
    if (own === undefined) return [];
    const rows = new Map(own.year.map((year, at) => [year, at]));
    return figures.flatMap(([year, value]) => {
      const at = rows.get(year) ?? -1;
      const [figure, size] = [own.value[at] ?? null, Math.max(Math.abs(value), least)];
      const isComparable = own.coverage[at] === 1 && own.projected?.[at] !== true && size > 0;
      return figure !== null && isComparable ? [(100 * Math.abs(figure - value)) / size] : [];
    });
  });
  if (deviations.length === 0) return null;
  deviations.sort((a, b) => a - b);
  const quantile = (share: number): number =>
    Number((deviations[Math.ceil(share * deviations.length) - 1] ?? 0).toPrecision(4));
  return { cells: deviations.length, median: quantile(0.5), p95: quantile(0.95) };
}

/** A series whose figures aggregate. */
interface Aggregated {
  planned: PlannedIndicator;
  measure: SeriesMeasure['measure'];
  aggregate: 'sum' | 'mean';
  divisor: PlannedIndicator | null;
}

export interface GroupFigureFiles {
  duck: DuckSession;
  /** Holds the observation files under their names; receives those of groups. */
  directory: string;
  plan: Pick<SnapshotPlan, 'indicators'>;
  measured: ReadonlyMap<string, MeasuredSeries>;
  curated: Pick<Curated, 'groups' | 'countries' | 'territories'>;
  base: BaseEdition | null;
  onFiles: (done: number, total: number) => void;
}

export interface WrittenGroups {
  /** The inputs of each file, by its name. */
  inputs: Map<string, string>;
  /** By indicator id. */
  deviations: Map<string, AggregateDeviation>;
}

export async function writeGroupFigures(given: GroupFigureFiles): Promise<WrittenGroups> {
  const { directory, curated, base, onFiles } = given;
  const all = aggregatedSeries(given);
  const edition = groupsIn(curated);
  const inputs = new Map(all.map((one) => [groupFiguresFile(one.planned.id), inputsOf(one, edition)]));
  const files = await linkUnchanged(base, directory, inputs);
  const changed = all.filter(({ planned: { id } }) => files.has(groupFiguresFile(id)));
  const writer = new GroupWriter(given, edition, await readHidden(given.duck, changed));
  let done = all.length - changed.length;
  const byId = new Map(changed.map((one) => [one.planned.id, one]));
  for (const batch of batchIndicators(changed.map(({ planned }) => planned))) {
    const own = batch.flatMap(({ id }) => byId.get(id) ?? []);
    await writer.write(own);
    done += own.length;
    onFiles(done, all.length);
  }
  return { inputs, deviations: await readDeviations(directory, all) };
}

/** Those of series for which the provider publishes figures of groups. */
async function readDeviations(
  directory: string,
  all: readonly Aggregated[],
): Promise<WrittenGroups['deviations']> {
  const compared = all.filter(({ planned }) => Object.keys(planned.aggregates).length > 0);
  const deviations: WrittenGroups['deviations'] = new Map();
  await inParallel(compared, PARALLEL, async ({ planned: { id } }) => {
    const text = unpackJson(await readFile(join(directory, groupFiguresFile(id))));
    const { deviation } = storedGroups.pick({ deviation: true }).parse(JSON.parse(text));
    if (deviation !== null) deviations.set(id, deviation);
  });
  return deviations;
}

function aggregatedSeries({ plan, measured }: GroupFigureFiles): Aggregated[] {
  const byId = new Map(plan.indicators.map((planned) => [planned.id, planned]));
  return plan.indicators.flatMap((planned) => {
    const found = measured.get(planned.id);
    const aggregate = found?.traits.measured.aggregate ?? 'none';
    if (aggregate === 'none') return [];
    const measure = found?.traits.measured.measure ?? 'other';
    return [{ planned, measure, aggregate, divisor: byId.get(found?.divisor ?? '') ?? null }];
  });
}

function inputsOf({ planned, measure, aggregate, divisor }: Aggregated, edition: EditionGroups): string {
  const own = [GROUPS_VERSION, planned.inputs, planned.aggregates, measure, aggregate];
  return hash('sha256', JSON.stringify([...own, divisor?.id, divisor?.inputs, edition]));
}

const hiddenRow = z.object({ slug: z.string(), iso3, year: z.int() });
/** Years with a figure of a country that is not served, by lake file and slug, then by country. */
type Hidden = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<number>>>;
const hiddenKey = ({ lake, slug }: Pick<PlannedIndicator, 'lake' | 'slug'>): string => `${lake} ${slug}`;

async function readHidden(duck: DuckSession, series: readonly Aggregated[]): Promise<Hidden> {
  const hidden = new Map<string, Map<string, Set<number>>>();
  for (const [lake, own] of Map.groupBy(series, ({ planned }) => planned.lake)) {
    const slugs = listValue(own.map(({ planned }) => planned.slug));
    for (const row of await duck.select(hiddenRow, sql('hidden-figures'), { lake, slugs })) {
      const key = hiddenKey({ lake, ...row });
      const countries = hidden.get(key) ?? new Map<string, Set<number>>();
      hidden.set(key, countries.set(row.iso3, (countries.get(row.iso3) ?? new Set()).add(row.year)));
    }
  }
  return hidden;
}

/** The figures of one series by country. */
type ByCountry = ReadonlyMap<string, YearValues>;

class GroupWriter {
  readonly #given: GroupFigureFiles;
  readonly #edition: EditionGroups;
  readonly #hidden: Hidden;
  /** Served countries and others, by group. */
  readonly #members: ReadonlyMap<string, readonly string[]>;
  readonly #divisors = new Map<string, ByCountry>();

  constructor(given: GroupFigureFiles, edition: EditionGroups, hidden: Hidden) {
    this.#given = given;
    this.#edition = edition;
    this.#hidden = hidden;
    const { groups, countries } = given.curated;
    this.#members = new Map(groups.map((group) => [group.id, membersOf(group, countries)]));
  }

  async write(series: readonly Aggregated[]): Promise<void> {
    const wanted = series.flatMap(({ divisor }) => divisor ?? []).filter(({ id }) => !this.#divisors.has(id));
    const divisors = [...new Map(wanted.map((one) => [one.id, one])).values()];
    for (const [id, found] of await this.#read(divisors)) this.#divisors.set(id, found);
    const figures = await this.#read(series.map(({ planned }) => planned));
    await inParallel(series, PARALLEL, async (one) => {
      const stored = this.#aggregate(one, figures.get(one.planned.id) ?? new Map());
      const file = join(this.#given.directory, groupFiguresFile(one.planned.id));
      await writeFile(file, await packJson(JSON.stringify(stored)));
    });
  }

  /** By indicator id. */
  async #read(indicators: readonly PlannedIndicator[]): Promise<Map<string, ByCountry>> {
    const { duck, directory } = this.#given;
    const ids = new Map(indicators.map(({ number, id }) => [number, id]));
    const read = new Map<string, Map<string, YearValues>>();
    if (indicators.length === 0) return read;
    const files = filesOf(directory, indicators);
    for await (const rows of duck.groups(sql('group-members'), 2, { files })) {
      const [[number, country] = []] = rows;
      const id = ids.get(Number(number)) ?? '';
      const values = yearValues(
        rows.map(([, , year, value, projected]) => ({
          year: Number(year),
          value: Number(value),
          projected: projected === true,
        })),
      );
      if (values !== null) read.set(id, (read.get(id) ?? new Map()).set(String(country), values));
    }
    return read;
  }

  #aggregate({ planned, measure, aggregate, divisor }: Aggregated, figures: ByCountry): StoredGroups {
    const divisors = this.#divisors.get(divisor?.id ?? '');
    const hidden = this.#hidden.get(hiddenKey(planned));
    const members = new Map<string, GroupMember>();
    const memberOf = (country: string): GroupMember => {
      const known = members.get(country) ?? {
        iso3: country,
        figures: figures.get(country) ?? null,
        divisors: divisors?.get(country) ?? null,
        hidden: hidden?.get(country) ?? null,
      };
      members.set(country, known);
      return known;
    };
    // A weight that includes another place weighs the figure of both.
    const containments = [planned, ...(aggregate === 'mean' && divisor ? [divisor] : [])].flatMap(({ id }) =>
      containmentsOf(this.#given.curated.territories, id),
    );
    const found = this.#edition.groups.flatMap(({ id, members: served }): [string, GroupColumns][] => {
      const isServed = new Set(served);
      const all = (this.#members.get(id) ?? []).map(memberOf);
      const own = all.filter((one) => isServed.has(one.iso3) || one.hidden !== null);
      const figuresOfGroup = groupFigures(aggregate, own, containments);
      return figuresOfGroup.length === 0 ? [] : [[id, columnsOf(figuresOfGroup)]];
    });
    const groups = Object.fromEntries(found);
    const deviation = deviationFrom(planned.aggregates, groups, measure);
    return { aggregate, divisor: divisor?.id ?? null, deviation, groups };
  }
}

function columnsOf(figures: readonly GroupFigure[]): GroupColumns {
  return {
    year: figures.map(({ year }) => year),
    value: figures.map(({ value }) => value),
    members: figures.map(({ members }) => members),
    counted: figures.map(({ counted }) => counted),
    coverage: figures.map(({ coverage }) => coverage),
    projected: figures.some(({ projected }) => projected) ? figures.map(({ projected }) => projected) : null,
    reason: figures.some(({ reason }) => reason !== null) ? figures.map(({ reason }) => reason) : null,
  };
}
