/** Series and groups of which derived figures have receipts, receipts of each kind, and what is forged from them. */
import { expect } from 'vitest';
import { groupFigures, yearValues } from '../../data/derived/aggregate.ts';
import { descriptorLeaf, MerkleTree, observationLeaf } from '../../data/proofs/merkle-tree.ts';
import { type DerivationReceipt, hexPath } from '../../data/proofs/receipt.ts';
import type { StoredGroups } from '../../data/schema/groups.ts';
import { BREAKS, EDITION_GROUPS, INVENTED, OUTPUT, PEOPLE } from './derived-world.ts';
import { COUNTRIES, type FixtureIndicator } from './fixture-data.ts';
import { publishFixture, writeFixture } from './fixture-snapshot.ts';
import type { Answer } from './service.ts';

export const RATE = 'alpha.rate';
const DIVISORS: Record<string, string | null> = {
  [OUTPUT]: PEOPLE,
  [PEOPLE]: null,
  'alpha.deaths': PEOPLE,
  [RATE]: PEOPLE,
};
/** Of members, two never had a figure, and one is within another. */
const groups = {
  groups: [
    ...EDITION_GROUPS.groups.map((group) =>
      group.id === 'wb-sub-saharan-africa' ? { ...group, members: ['AFG', 'CIV', 'KEN', 'ZWE'] } : group,
    ),
    {
      id: 'world',
      name: 'World',
      source: 'https://example.org/groups',
      as_of: '2026-01-01',
      members: COUNTRIES.map(({ iso3 }) => iso3).sort(),
    },
  ],
  territories: [
    { provider: '*', parent: 'DEU', child: 'ALB', from: 2003, to: 2006, contained: true, source: 'Test.' },
    {
      provider: 'beta',
      parent: 'DEU',
      child: 'ALA',
      from: 2005,
      to: null,
      contained: false,
      source: 'Test.',
    },
  ],
};
const own = (id: string): FixtureIndicator => INVENTED.find((one) => one.id === id) ?? expect.fail(id);
const valuesOf = (id: string | null, iso3: string) =>
  id === null
    ? null
    : yearValues(
        own(id).rows.flatMap(({ iso3: of, year, value, projected = false }) =>
          of === iso3 && value !== null ? [{ year, value, projected }] : [],
        ),
      );

/** The figures of groups as the build would have made them. */
function built(id: string): StoredGroups {
  const divisor = DIVISORS[id] ?? null;
  const aggregate = id === RATE ? 'mean' : 'sum';
  const contained = groups.territories.map(({ provider: _, source: __, to, ...one }) => ({
    ...one,
    to: to ?? Number.POSITIVE_INFINITY,
  }));
  const made = groups.groups.map(({ id: group, members }) => {
    const read = members.map((iso3) => ({
      iso3,
      hidden: null,
      figures: valuesOf(id, iso3),
      divisors: valuesOf(divisor, iso3),
    }));
    const found = groupFigures(aggregate, read, contained);
    const column = <Name extends keyof (typeof found)[number]>(name: Name) => found.map((one) => one[name]);
    return [
      group,
      {
        year: column('year'),
        value: column('value'),
        members: column('members'),
        counted: column('counted'),
        coverage: column('coverage'),
        projected: column('projected'),
        reason: column('reason'),
      },
    ];
  });
  return { aggregate, divisor, deviation: null, groups: Object.fromEntries(made) };
}

const published = {
  indicators: INVENTED,
  added: { breaks: BREAKS },
  editionGroups: groups,
  groups: Object.fromEntries(Object.keys(DIVISORS).map((id) => [id, built(id)])),
};
/** In it, a measure and a scale were other ones. */
export const EARLIER = '20261119T020000Z-00000001';
/** From before measures were kept. */
export const OLDEST = '20261118T020000Z-00000001';
const overruled = INVENTED.map((one) =>
  one.id === OUTPUT ? { ...one, scale: 6, measured: { ...one.measured, measure: 'price' as const } } : one,
);

export async function publishProvable(root: string): Promise<void> {
  await writeFixture(root, { id: OLDEST, generatedAt: '2026-11-18T02:00:00+00:00', indicators: INVENTED });
  await writeFixture(root, {
    ...published,
    id: EARLIER,
    generatedAt: '2026-11-19T02:00:00+00:00',
    indicators: overruled,
  });
  await publishFixture(root, published);
}

export interface Asked {
  id: string;
  place: string;
  year: number;
  words: readonly string[];
  /** The edition asked for. */
  asOf?: string;
}
type Ask = (path: string) => Promise<Answer>;

const derivedBy = ({ place, words, asOf }: Asked): string =>
  (words.length > 0 ? `&transform=${words}` : '') +
  (place.startsWith('@') ? '&aggregate=declared' : '') +
  (asOf === undefined ? '' : `&as_of=${asOf}`);

export const receiptFor = (ask: Ask, asked: Asked): Promise<Answer> =>
  ask(`receipts?indicator=${asked.id}&country=${asked.place}&year=${asked.year}${derivedBy(asked)}`);

/** What `/v1/data` has of it. */
export async function served(ask: Ask, asked: Asked) {
  const { id, place, year } = asked;
  const fields = 'fields=value,status,projected';
  const path = `data?indicator=${id}&countries=${place}&from=${year}&to=${year}&${fields}${derivedBy(asked)}`;
  return (await ask(path)).json.data[0];
}

/** In the first year of which the figure is there. */
export async function firstProved(ask: Ask, asked: Omit<Asked, 'year'>): Promise<Asked> {
  for (let year = 2001; year < 2016; year += 1)
    if (((await served(ask, { ...asked, year }))?.value ?? null) !== null) return { ...asked, year };
  return expect.fail('no figure');
}

/** Of countries and groups, under no transform, one and two, by the rules of two editions. */
const PROVED = [
  { id: OUTPUT, place: 'CIV', words: ['growth:1'] },
  { id: OUTPUT, place: 'CIV', words: ['per_head'] },
  { id: OUTPUT, place: 'CIV', words: ['per_head'], asOf: EARLIER },
  { id: OUTPUT, place: 'ZWE', words: ['per_head', 'growth:3'] },
  { id: OUTPUT, place: '@wb-sub-saharan-africa', words: [] },
  { id: OUTPUT, place: '@world', words: [] },
  { id: OUTPUT, place: '@world', words: ['per_head'] },
  { id: OUTPUT, place: '@wb-europe-central-asia', words: [`per:${PEOPLE}`, 'mean:2'] },
  { id: PEOPLE, place: '@world', words: ['mean:2', 'change:1'] },
  { id: RATE, place: '@wb-europe-central-asia', words: [] },
  { id: PEOPLE, place: 'ALB', words: ['share:wb-europe-central-asia'] },
];

export const provedReceipts = (ask: Ask): Promise<DerivationReceipt[]> =>
  Promise.all(PROVED.map(async (asked) => (await receiptFor(ask, await firstProved(ask, asked))).json.data));

const rule = ({ rules }: DerivationReceipt, member: string): Record<string, unknown> =>
  rules.given.map((one) => one.rule as Record<string, unknown>).find((one) => one?.[member] !== undefined) ??
  {};

/** Each changes a receipt. */
export const FORGERIES: Record<string, (receipt: DerivationReceipt) => void> = {
  'a digit of the figure': ({ figure, recipe }) => {
    const least = recipe.transform.includes('growth:3') ? 1e-11 : 2 ** -50;
    figure.value = (figure.value ?? 0) * (1 + least);
  },
  'the status of the figure': ({ figure }) => {
    figure.status = figure.status === null ? 'estimated' : null;
  },
  'a digit of a row': ({ series: [first] }) => {
    const row = first?.given[0]?.row;
    if (row) row.value = (row.value ?? 0) + 1;
  },
  'the place of a row': ({ series: [first] }) => {
    const given = first?.given[0];
    if (given) given.index += 1;
  },
  'a series': (receipt) => {
    receipt.series = receipt.series.slice(1);
  },
  'the year': ({ recipe }) => {
    recipe.year += 1;
  },
  'the place': ({ recipe }) => {
    recipe.place = recipe.place.startsWith('@') ? '@wb-none' : 'KEN';
  },
  'the transform': ({ recipe }) => {
    recipe.transform = recipe.transform.length === 0 ? ['change:1'] : ['mean:1'];
  },
  'the weight or population': (receipt) => {
    const found = rule(receipt, 'indicator');
    found.divisor = 'alpha.deaths';
    found.population = 'alpha.deaths';
  },
  'the scale': (receipt) => {
    rule(receipt, 'indicator').scale = 1;
  },
  'the manifest': (receipt) => {
    receipt.manifest = receipt.manifest.replace('"format":2', '"format":3');
  },
  'the edition': ({ edition }) => {
    edition.published_at = edition.published_at.replace('2026', '2025');
  },
};

/** With another membership of a group, and other territories. */
export const withOtherGroups = (genuine: DerivationReceipt): DerivationReceipt[] =>
  genuine.rules.given.some(({ rule: one }) => one && 'group' in one)
    ? ['members', 'territories'].map((member) => {
        const forged = structuredClone(genuine);
        (rule(forged, member)[member] as unknown[]).pop();
        return forged;
      })
    : [];

/** Without one of the rows, each time with the path of the rest: all hashes are right. */
export const withoutRows = (genuine: DerivationReceipt): DerivationReceipt[] =>
  genuine.series.flatMap(({ descriptor, given }, at) => {
    const rows = own(descriptor.indicator).rows.toSorted((a, b) =>
      a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1,
    );
    const leaves = rows.map(({ ci_lo = null, ci_hi = null, status = null, projected = false, ...row }) =>
      observationLeaf({ ...row, ci_lo, ci_hi, status, projected }),
    );
    const tree = MerkleTree.of([descriptorLeaf(descriptor), ...leaves]);
    return given.map((left) => {
      const forged = structuredClone(genuine);
      const one = forged.series[at] ?? expect.fail();
      one.given = one.given.filter(({ index }) => index !== left.index);
      one.path = hexPath(tree.pathOfSeveral([0, ...one.given.map(({ index }) => index)]));
      return forged;
    });
  });

/** All that is forged from a receipt. */
export const forgedFrom = (genuine: DerivationReceipt): DerivationReceipt[] => [
  ...Object.values(FORGERIES).map((change) => {
    const forged = structuredClone(genuine);
    change(forged);
    return forged;
  }),
  ...withOtherGroups(genuine),
  ...withoutRows(genuine),
];
