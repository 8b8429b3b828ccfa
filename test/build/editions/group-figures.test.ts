/** Figures of groups in a snapshot: a recomputation from the figures that were ingested, and what is written again. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recompute } from '../../../data/derived/recompute.ts';
import { type RuleLeaf, rulesTree } from '../../../data/proofs/merkle-tree.ts';
import { NotedRows, NotedRules, notedHeld } from '../../../data/proofs/receipt.ts';
import { unpackJson } from '../../../data/runtime/durable-files.ts';
import {
  editionGroups,
  GROUPS,
  type GroupColumns,
  groupFiguresFile,
  storedGroups,
} from '../../../data/schema/groups.ts';
import { RULES } from '../../../data/schema/proofs.ts';
import { type Cell, cells, SERVED, World } from '../world.ts';

const MEMBERS = ['BRA', 'CHN', 'FRA', 'IND', 'JPN', 'XKX'];
const TABLES = {
  'concepts.csv': [
    'id,name,topic,higher_is_better,preferred,projected_from',
    'population,Population,population,none,atlas.people,',
  ],
  'concept-series.csv': ['concept,indicator,factor,deviates,reason', 'population,atlas.people,,,'],
  'groups.csv': [
    'id,name,names,members,rule,source,as_of',
    `some,Some,,${MEMBERS.join(' ')},,https://a.example,2020-01-01`,
    'pair,Pair,,BRA CHN,,https://a.example,2020-01-01',
    'region,Region,,,region: Europe & Central Asia,https://a.example,2020-01-01',
  ],
  'measures.csv': [
    'subject,name,unit,measure,scale,aggregate,weight,per_head,reason',
    'atlas.people,,,count,,sum,,,People.',
    'atlas.product,,,amount,,sum,,atlas.people,Money.',
    'atlas.access,,,rate,,mean,atlas.people,,People.',
    'atlas.score,,,score,,none,,,A score.',
    'atlas.hidden,,,count,,sum,,,Known of a country that is not served.',
  ],
  'territories.csv': [
    'provider,parent,child,from,to,contained,source',
    'atlas,FRA,XKX,2003,2004,yes,A test says so.',
  ],
};

const upper = (place: string): string => (place === 'kos' ? 'XKX' : place.trim().toUpperCase());
const peopleOf = (place: number, year: number): number => (place + 1) * 1000 + year;
const people = cells(6, peopleOf);
const product = cells(6, (place, year) => (place * 7.7 + 0.1) * (year + 1)).filter(
  ([place, year]) => !(upper(String(place)) === 'IND' && Number(year) >= 2004),
);
const access = cells(6, (place, year) => 10 + place / 3 + year);

const add = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** In the order of ISO3, from the ingested cells. */
function figuresIn(of: readonly Cell[], year: number): [iso3: string, value: number][] {
  return of
    .filter(([place, at]) => Number(at) === year && MEMBERS.includes(upper(String(place))))
    .map(([place, , value]): [string, number] => [upper(String(place)), Number(value)])
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .filter(([iso3]) => !(iso3 === 'XKX' && (year === 2003 || year === 2004)));
}

const totalIn = (of: readonly Cell[], year: number): number =>
  add(figuresIn(of, year).map(([, figure]) => figure));

/** What the provider gives for the group itself: right, 1 % too much, and where a member is missing. */
const theirs: Cell[] = [
  ['world', 2000, totalIn(product, 2000)],
  ['world', 2001, totalIn(product, 2001) * 1.01],
  ['world', 2005, 1],
];

const stored = async (id: string) => {
  const { directory } = await world.served();
  return storedGroups.parse(JSON.parse(unpackJson(await readFile(join(directory, groupFiguresFile(id))))));
};

async function night(more: number): Promise<void> {
  world.tomorrow();
  await world.publish('atlas', {
    people: { unit: 'people', cells: people },
    product: {
      unit: 'US$',
      cells: [...product.map(([a, b, c]): Cell => [a, b, Number(c) + more]), ...theirs],
    },
    access: { unit: '%', cells: access },
    score: { unit: 'points', cells: cells(2) },
    hidden: { unit: 'people', cells: [...cells(2), ['GBR', 2001, 5]] },
  });
  await world.ingest('atlas');
  await world.build();
}

const world = await World.use({ atlas: { aggregates: { world: 'some' } } });
for (const [name, lines] of Object.entries(TABLES))
  await world.write(`data/${name}`, `${lines.join('\n')}\n`);
await night(0);

it('the groups of an edition are those with three served members or more, with source, date and territories', async () => {
  const { directory } = await world.served();
  const { groups, territories } = editionGroups.parse(
    JSON.parse(unpackJson(await readFile(join(directory, GROUPS)))),
  );
  expect(groups.map(({ id }) => id)).toEqual(['region', 'some']);
  expect(groups[1]?.members).toEqual(MEMBERS);
  expect(groups[0]?.members.every((iso3) => SERVED.includes(iso3))).toBe(true);
  expect(territories).toMatchObject([{ parent: 'FRA', child: 'XKX', from: 2003, to: 2004, contained: true }]);
});

describe('figures of a group', () => {
  it('are recomputed from published rows by the rules to which the manifest commits', async () => {
    const { directory, manifest } = await world.served();
    const leaves: RuleLeaf[] = JSON.parse(unpackJson(await readFile(join(directory, RULES))));
    const { size, root } = rulesTree(leaves);
    expect(manifest.rules).toEqual({ leaves: size, root: root.toString('hex') });
    const read = async (id: string) =>
      new NotedRows(JSON.parse(JSON.stringify(await world.observations(id))));
    const series = new Map([
      ['atlas.people', await read('atlas.people')],
      ['atlas.product', await read('atlas.product')],
      ['atlas.access', await read('atlas.access')],
    ]);
    const held = notedHeld(new NotedRules(leaves), series);
    for (const indicator of series.keys())
      for (const [group, { year, value, counted, coverage }] of Object.entries(
        (await stored(indicator)).groups,
      ))
        for (const [at, inYear] of year.entries()) {
          const recipe = {
            indicator,
            place: `@${group}`,
            year: inYear,
            transform: [],
            aggregate: 'declared' as const,
          };
          const same = { value: value[at], counted: counted[at], coverage: coverage[at] };
          expect(recompute(recipe, held), `${indicator} ${group} ${inYear}`).toMatchObject(same);
        }
  });

  it('are sums of the published figures, territories once', async () => {
    const { aggregate, divisor, groups } = await stored('atlas.product');
    expect([aggregate, divisor]).toEqual(['sum', 'atlas.people']);
    const { year, value, members, counted, reason, projected } = groups.some as GroupColumns;
    expect(year).toEqual([2000, 2001, 2002, 2003, 2004, 2005]);
    const own = year.map((at) => figuresIn(product, at));
    expect(value).toEqual(own.map((all) => add(all.map(([, figure]) => figure))));
    expect(counted).toEqual(own.map((all) => all.length));
    expect(members).toEqual([6, 6, 6, 5, 5, 6]);
    expect([reason, projected]).toEqual([null, null]);
  });

  it('are means weighed by the denominator, to the bit', async () => {
    const { aggregate, divisor, groups } = await stored('atlas.access');
    expect([aggregate, divisor]).toEqual(['mean', 'atlas.people']);
    const { year, value, coverage } = groups.some as GroupColumns;
    const own = year.map((at) => {
      const weights = new Map(figuresIn(people, at));
      const pairs = figuresIn(access, at).map(([iso3, figure]) => [weights.get(iso3) ?? 0, figure] as const);
      return add(pairs.map(([weight, figure]) => weight * figure)) / add(pairs.map(([weight]) => weight));
    });
    expect(value).toEqual(own);
    expect(coverage.every((share) => share === 1)).toBe(true);
  });

  it('are compared with those of the provider, where all members have a figure', async () => {
    const { deviation } = await stored('atlas.product');
    expect(deviation).toMatchObject({
      cells: 2,
      median: expect.closeTo(0, 9),
      p95: expect.closeTo(100 / 101, 3),
    });
    expect((await stored('atlas.access')).deviation).toBeNull();
  });

  it('are none of a series that does not aggregate', async () => {
    await expect(stored('atlas.score')).rejects.toThrow('ENOENT');
  });

  it('are withheld with a figure of a country that is not served', async () => {
    await world.write(
      'data/groups.csv',
      `${[...TABLES['groups.csv'], 'more,More,,BRA CHN FRA GBR,,https://a.example,2020-01-01'].join('\n')}\n`,
    );
    await night(0);
    const { groups } = await stored('atlas.hidden');
    expect(groups.more?.reason).toEqual([null, 'withheld']);
    expect(groups.more?.value[1]).toBeNull();
    expect(groups.some?.reason).toBeNull();
  });

  it('are written again only where a figure, a divisor or a group changed', async () => {
    const hashes = async (): Promise<(string | undefined)[]> => {
      const { kept } = await world.snapshots.open((await world.snapshots.currentId()) ?? '');
      return ['atlas.people', 'atlas.product', 'atlas.access'].map(
        (id) => kept[groupFiguresFile(id)]?.sha256,
      );
    };
    const before = await hashes();
    await night(0.5);
    const after = await hashes();
    expect(after.map((hash, at) => hash === before[at])).toEqual([true, false, true]);
  });
});
