/** Invented series under transforms: what is published of them, and what the naive computation derives. */
import fc from 'fast-check';
import type { EditionGroups, GroupColumns, StoredGroups } from '../../data/schema/groups.ts';
import { useDirectory } from '../after-tests.ts';
import { derivedCell, type FoundBreak, type Given, type PlainRow } from '../derived-figures.ts';
import { COUNTRIES, type FixtureIndicator, type FixtureRow } from './fixture-data.ts';
import { type FixtureOptions, publishFixture } from './fixture-snapshot.ts';
import { useService } from './service.ts';
import type { FullRow } from './shape/expected-data.ts';

/** Figures with gaps, zeros, negative ones, statuses and projections; the same in every run. */
function inventedRows(salt: number, size: number): FixtureRow[] {
  let state = salt;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const years = Array.from({ length: 16 }, (_, at) => 2000 + at);
  return COUNTRIES.slice(1).flatMap(({ iso3 }) =>
    years.flatMap((year) => inventedRow(iso3, year, size, [random(), random(), random()])),
  );
}

function inventedRow(
  iso3: string,
  year: number,
  size: number,
  [kind, figure, mark]: [number, number, number],
): FixtureRow[] {
  if (kind < 0.08) return [];
  const found = [
    { below: 0.14, value: null },
    { below: 0.16, value: 0 },
    { below: 0.18, value: -figure * size },
  ].find(({ below }) => kind < below);
  const status = mark < 0.1 ? 'estimated' : mark < 0.15 ? 'break, provisional' : undefined;
  const value = found === undefined ? figure * size : found.value;
  const bounds = value === null ? {} : { ci_lo: value - 1, ci_hi: value + 1 };
  return [
    { iso3, year, value, ...bounds, ...(status && { status }), ...(year > 2012 && { projected: true }) },
  ];
}

const series = (
  id: string,
  salt: number,
  size: number,
  more: Partial<FixtureIndicator> = {},
): FixtureIndicator => ({
  id,
  name: id,
  topic: 'economy',
  rows: inventedRows(salt, size),
  ...more,
});
export const OUTPUT = 'alpha.output';
export const PEOPLE = 'beta.people';
const SUM = { aggregate: 'sum', population: PEOPLE } as const;
export const INVENTED: FixtureIndicator[] = [
  series(OUTPUT, 1, 400, {
    unit: 'billions of US dollars',
    scale: 9,
    measured: { measure: 'amount', ...SUM },
  }),
  series(PEOPLE, 2, 90_000, {
    unit: 'thousands',
    scale: 3,
    measured: { measure: 'count', aggregate: 'sum' },
  }),
  series('alpha.deaths', 3, 1000, {
    unit: 'deaths',
    higher_is_better: false,
    measured: { measure: 'count', ...SUM },
  }),
  series('alpha.rate', 4, 100, {
    unit: '% of GDP',
    measured: { measure: 'rate', aggregate: 'mean', weight: PEOPLE },
  }),
  series('alpha.unread', 5, 100, { unit: 'points', measured: {} }),
  series('alpha.unmeasured', 6, 100),
  series('gamma.shown', 7, 9, { access_tier: 'display', measured: { measure: 'amount', ...SUM } }),
  series('gamma.open', 8, 9, {
    measured: { measure: 'amount', aggregate: 'mean', weight: 'gamma.shown', population: 'gamma.shown' },
  }),
  series('gamma.sum', 9, 9, { measured: { measure: 'amount', aggregate: 'sum' } }),
];
export const BREAKS: Record<string, FoundBreak[]> = {
  [OUTPUT]: [
    { kind: 'level_break', iso3: 'KEN', year: 2004 },
    { kind: 'level_break', iso3: 'DEU', year: 2005 },
    { kind: 'decimal_slip', iso3: 'USA', year: 2003 },
  ],
  [PEOPLE]: [{ kind: 'unit_change', iso3: null, year: 2008 }],
};

export const GROUPS: Record<string, string[]> = {
  'wb-sub-saharan-africa': ['CIV', 'KEN', 'ZWE'],
  'wb-europe-central-asia': ['ALA', 'ALB', 'DEU', 'XKX'],
};

/** Figures of groups as the build might have stored them: years that are covered well, barely and not, and hidden ones. */
function inventedGroups(salt: number): StoredGroups {
  const year = Array.from({ length: 16 }, (_, at) => 2000 + at);
  const columns = (at: number): GroupColumns => {
    const coverage = year.map((one) => [1, 0.95, 0.949_999, 0.5][(one + at + salt) % 7] ?? 1);
    const reason = year.map((one, row) =>
      (one + salt) % 11 === 0
        ? 'withheld'
        : one % 13 === 0
          ? 'territory'
          : (coverage[row] ?? 0) < 0.6
            ? 'coverage'
            : null,
    );
    const value = year.map((one, row) => (reason[row] === null ? (one % 10) * salt * 1000.1 : null));
    const projected = at === 0 ? null : year.map((one) => one > 2012);
    return {
      year,
      value,
      members: year.map(() => 3),
      counted: year.map(() => 2),
      coverage,
      projected,
      reason,
    };
  };
  return {
    aggregate: 'sum',
    divisor: null,
    deviation: null,
    groups: Object.fromEntries(Object.keys(GROUPS).map((id, at) => [id, columns(at)])),
  };
}
export const GROUP_FIGURES: Record<string, StoredGroups> = {
  [OUTPUT]: inventedGroups(1),
  [PEOPLE]: inventedGroups(2),
  'alpha.deaths': inventedGroups(3),
  'alpha.rate': { ...inventedGroups(4), aggregate: 'mean', divisor: PEOPLE },
  'gamma.open': { ...inventedGroups(5), aggregate: 'mean', divisor: 'gamma.shown' },
  'gamma.sum': { ...inventedGroups(6), divisor: 'gamma.shown' },
};

export const EDITION_GROUPS: EditionGroups = {
  groups: Object.entries(GROUPS).map(([id, members]) => ({
    id,
    name: `Group ${id}`,
    source: 'https://example.org/groups',
    as_of: '2026-01-01',
    members,
  })),
  territories: [],
};

/** Of a group as of a place `@`; none where less is covered. */
export function wholeOf(id: string, group: string, least = 0.95): PlainRow[] {
  const held = GROUP_FIGURES[id]?.groups[group];
  return (held?.year ?? []).map((year, at) => {
    const isCovered = (held?.coverage[at] ?? 0) >= least;
    const value = isCovered ? (held?.value[at] ?? null) : null;
    const reason = held?.reason?.[at] ?? (isCovered ? null : 'coverage');
    return { iso3: '@', year, value, reason, status: null, projected: held?.projected?.[at] ?? false };
  });
}

function givenFor(id: string, words: readonly string[]): Given {
  const find = (asked: string | undefined) => INVENTED.find((one) => one.id === asked);
  const indicator = find(id);
  const dividedBy = words.map((word) =>
    word === 'per_head'
      ? indicator?.measured?.population
      : word.startsWith('per:')
        ? word.slice(4)
        : undefined,
  );
  const divisor = find(dividedBy.find((one) => one != null) ?? undefined);
  const group = words.find((word) => word.startsWith('share:'))?.slice(6) ?? '';
  const plain = (one: FixtureIndicator) => ({
    rows: one.rows.map((row) => ({ ...row, status: row.status ?? null, projected: row.projected ?? false })),
    found: BREAKS[one.id] ?? [],
    scale: one.scale ?? 0,
  });
  if (indicator === undefined) throw new Error(`no ${id}`);
  return { ...plain(indicator), divisor: divisor ? plain(divisor) : null, whole: wholeOf(id, group) };
}

/** The rows of a series under transforms, as `/v1/data` has them. */
export function derivedRows(id: string, words: readonly string[]): FullRow[] {
  const given = givenFor(id, words);
  const group = words.find((word) => word.startsWith('share:'))?.slice(6);
  return given.rows
    .filter(({ iso3 }) => group === undefined || GROUPS[group]?.includes(iso3))
    .toSorted((a, b) => (a.iso3 < b.iso3 ? -1 : a.iso3 > b.iso3 ? 1 : a.year - b.year))
    .map(({ iso3, year }) => {
      const cell = derivedCell(given, words, iso3, year);
      if (cell === undefined) throw new Error(`no row of ${iso3} in ${year}`);
      return {
        iso3,
        year,
        ...cell,
        ci_lo: null,
        ci_hi: null,
        rank: null,
        rank_lo: null,
        rank_hi: null,
      };
    });
}

const years = fc.integer({ min: 1, max: 4 });
export const linear = fc.tuple(fc.constantFrom('change', 'mean'), years).map((parts) => parts.join(':'));
export const relative = fc.oneof(
  years.map((count) => `growth:${count}`),
  fc.integer({ min: 1999, max: 2014 }).map((year) => `index:${year}`),
);
export const group = fc.constantFrom(...Object.keys(GROUPS)).map((id) => `share:${id}`);

/** All that is published of the invented series. */
export const PUBLISHED: FixtureOptions = {
  indicators: INVENTED,
  added: { breaks: BREAKS },
  groups: GROUP_FIGURES,
  editionGroups: EDITION_GROUPS,
};

/** A service of it, and somebody who asks by paths below `/v1/`. */
export async function startDerived(changes: FixtureOptions = {}) {
  const root = await useDirectory();
  await publishFixture(root, { ...PUBLISHED, ...changes });
  const service = await useService({ snapshots: root });
  const owner = await service.account({ credits: 1_000_000_000 });
  const ask = (path: string) => service.get(`/v1/${path}`, { key: owner.key });
  return { service, owner, ask };
}
