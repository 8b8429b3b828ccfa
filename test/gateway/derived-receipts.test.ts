/** Receipts of derived figures: each is the figure of `/v1/data`, verified and recomputed offline, and nothing else passes. */
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupFigures, yearValues } from '../../data/derived/aggregate.ts';
import type { DerivationReceipt } from '../../data/proofs/derivation.ts';
import { descriptorLeaf, MerkleTree, observationLeaf } from '../../data/proofs/merkle-tree.ts';
import { hexPath } from '../../data/proofs/receipt.ts';
import { verifyDerivation } from '../../data/proofs/verify-derivation.ts';
import { parseKeys, Refused } from '../../data/proofs/verify-receipt.ts';
import type { StoredGroups } from '../../data/schema/groups.ts';
import { stopAfterTests, useDirectory } from '../after-tests.ts';
import { importsOf } from '../style/repository.ts';
import {
  BREAKS,
  EDITION_GROUPS,
  GROUPS,
  INVENTED,
  linear,
  OUTPUT,
  PEOPLE,
  relative,
} from './derived-world.ts';
import type { FixtureIndicator } from './fixture-data.ts';
import { publishFixture, writeFixture } from './fixture-snapshot.ts';
import { codeOf, Service } from './service.ts';

const RATE = 'alpha.rate';
const DIVISORS: Record<string, string | null> = {
  [OUTPUT]: PEOPLE,
  [PEOPLE]: null,
  'alpha.deaths': PEOPLE,
  [RATE]: PEOPLE,
};
/** Two members that never had a figure, and one within another. */
const groups = {
  groups: EDITION_GROUPS.groups.map((group) =>
    group.id === 'wb-sub-saharan-africa' ? { ...group, members: ['AFG', 'CIV', 'KEN', 'ZWE'] } : group,
  ),
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
      ...{ iso3, hidden: null, figures: valuesOf(id, iso3), divisors: valuesOf(divisor, iso3) },
    }));
    const found = groupFigures(aggregate, read, contained);
    const column = <Name extends keyof (typeof found)[number]>(name: Name) => found.map((one) => one[name]);
    return [
      group,
      {
        ...{ year: column('year'), value: column('value'), members: column('members') },
        ...{ counted: column('counted'), coverage: column('coverage') },
        ...{ projected: column('projected'), reason: column('reason') },
      },
    ];
  });
  return { aggregate, divisor, deviation: null, groups: Object.fromEntries(made) };
}

const published = {
  ...{ indicators: INVENTED, added: { breaks: BREAKS }, editionGroups: groups },
  groups: Object.fromEntries(Object.keys(DIVISORS).map((id) => [id, built(id)])),
};
const EARLIER = '20261119T020000Z-00000001';
const OLDEST = '20261118T020000Z-00000001';
const overruled = INVENTED.map((one) =>
  one.id === OUTPUT ? { ...one, scale: 6, measured: { ...one.measured, measure: 'price' as const } } : one,
);
const root = await useDirectory();
await writeFixture(root, { id: OLDEST, generatedAt: '2026-11-18T02:00:00+00:00', indicators: INVENTED });
await writeFixture(root, {
  ...{ ...published, id: EARLIER, generatedAt: '2026-11-19T02:00:00+00:00', indicators: overruled },
});
await publishFixture(root, published);
const service = await stopAfterTests(Service.start({ snapshots: root }));
const { key } = await service.account({ credits: 10_000_000 });
const ask = (path: string) => service.get(`/v1/${path}`, { key });
const keys = parseKeys((await service.get('/.well-known/almanac-keys.json')).text);

interface Asked {
  id: string;
  place: string;
  year: number;
  words: readonly string[];
  more?: string;
}
const receiptFor = ({ id, place, year, words, more = '' }: Asked) =>
  ask(
    `receipts?indicator=${id}&country=${place}&year=${year}${words.length > 0 ? `&transform=${words}` : ''}` +
      `${place.startsWith('@') ? '&aggregate=declared' : ''}${more}`,
  );

async function served({ id, place, year, words, more = '' }: Asked) {
  const aggregate = place.startsWith('@') ? '&aggregate=declared' : '';
  const transform = words.length > 0 ? `&transform=${words}` : '';
  const answer = await ask(
    `data?indicator=${id}&countries=${place}&from=${year}&to=${year}&fields=value,status,projected${transform}${aggregate}${more}`,
  );
  return answer.json.data[0];
}

/** The receipt proves what `/v1/data` serves, at a credit a row; without a figure there is none. */
async function checkProof(asked: Asked): Promise<boolean> {
  const [figure, answer] = [await served(asked), await receiptFor(asked)];
  if ((figure?.value ?? null) === null) {
    expect([answer.status, codeOf(answer)]).toEqual([404, 'figure_not_found']);
    return false;
  }
  expect(answer.status, answer.text).toBe(200);
  const verified = verifyDerivation(answer.text, keys);
  expect(verified.figure).toMatchObject(figure);
  const receipt: DerivationReceipt = answer.json.data;
  const rows = receipt.series.reduce((sum, { given }) => sum + given.length, 0);
  expect(answer.headers['x-credits-charged']).toBe(String(rows));
  expect(receipt.notices.map(({ indicator }) => indicator).sort()).toEqual(
    receipt.series.map(({ descriptor }) => descriptor.indicator),
  );
  return true;
}

const countries = fc.constantFrom('AFG', 'ALB', 'CIV', 'DEU', 'KEN', 'USA', 'XKX', 'ZWE');
const yearOf = fc.integer({ min: 2000, max: 2015 });
const group = fc.constantFrom(...Object.keys(GROUPS));
const chains = fc.oneof(
  fc.tuple(
    fc.constant(OUTPUT),
    fc.oneof(linear, relative).map((word) => [word]),
  ),
  fc.tuple(
    fc.constantFrom(OUTPUT, 'alpha.deaths'),
    linear.map((word) => ['per_head', word]),
  ),
  fc.tuple(
    fc.constant(OUTPUT),
    relative.map((word) => [`per:${PEOPLE}`, word]),
  ),
  fc.tuple(
    fc.constantFrom(OUTPUT, PEOPLE),
    fc.tuple(group, linear).map(([id, word]) => [`share:${id}`, word]),
  ),
  fc.tuple(
    fc.constantFrom(OUTPUT, 'alpha.deaths'),
    group.map((id) => ['mean:2', `share:${id}`]),
  ),
  fc.tuple(
    fc.constant(RATE),
    linear.map((word) => [word]),
  ),
);

describe('the receipt of a derived figure', () => {
  test('proves what is served of a country, under any chain of transforms', async () => {
    let proved = 0;
    const property = fc.asyncProperty(chains, countries, yearOf, async ([id, words], place, year) => {
      const isProved = await checkProof({ id, place, year, words });
      proved += isProved ? 1 : 0;
    });
    await fc.assert(property, { numRuns: 120, seed: 37 });
    expect(proved).toBeGreaterThan(20);
  });

  test('proves what is served of a group, with and without a transform', async () => {
    let proved = 0;
    const words = fc.oneof(
      fc.constant([]),
      fc.oneof(linear, relative).map((word) => [word]),
    );
    const ids = fc.constantFrom(OUTPUT, PEOPLE, 'alpha.deaths', RATE);
    const property = fc.asyncProperty(ids, group, yearOf, words, async (id, of, year, chain) => {
      const isFit = id !== RATE || chain.every((word) => !/growth|index/.test(word));
      const isProved = await checkProof({ id, place: `@${of}`, year, words: isFit ? chain : [] });
      proved += isProved ? 1 : 0;
    });
    await fc.assert(property, { numRuns: 80, seed: 37 });
    expect(proved).toBeGreaterThan(20);
  });

  test('follows the rules of the edition that is asked for', async () => {
    const asked = { id: OUTPUT, place: 'CIV', year: 2009, words: [`growth:1`] };
    const year = await firstProved(asked);
    expect(await checkProof({ ...asked, year, more: `&as_of=${EARLIER}` })).toBe(true);
    const head = await firstProved({ ...asked, words: ['per_head'] });
    const [now, then] = [``, `&as_of=${EARLIER}`].map((more) =>
      receiptFor({ ...asked, year: head, words: ['per_head'], more }),
    );
    const values = [(await now)?.json.data.figure.value, (await then)?.json.data.figure.value];
    expect(values[0] / values[1]).toBeCloseTo(1000, 6);
    const oldest = await receiptFor({ ...asked, year, more: `&as_of=${OLDEST}` });
    expect([oldest.status, codeOf(oldest)]).toEqual([404, 'not_in_edition']);
  });

  test('is refused without charge where it may not be, or makes no sense', async () => {
    const before = (await ask('ping')).json.data.credits;
    const codes = await Promise.all([
      ask(`receipts?indicator=gamma.shown&country=KEN&year=2005&transform=change`),
      ask(`receipts?indicator=gamma.open&country=KEN&year=2005&transform=per_head`),
      ask(`receipts?indicator=${RATE}&country=KEN&year=2005&transform=per_head`),
      ask(`receipts?indicator=${OUTPUT}&country=@eu&year=2005`),
      ask(`receipts?indicator=${OUTPUT}&country=KEN&year=2005&aggregate=declared`),
      ask(`receipts?indicator=${OUTPUT}&country=USA&year=2005&transform=share:wb-sub-saharan-africa`),
      ask(`receipts?indicator=${OUTPUT}&country=@eu&year=2005&aggregate=declared`),
    ]);
    expect(codes.map(({ status }) => status)).toEqual([403, 403, 422, 422, 422, 404, 404]);
    expect((await ask('ping')).json.data.credits).toEqual(before);
  });
});

/** The first year of which the figure is there. */
async function firstProved(asked: Asked): Promise<number> {
  for (let year = 2001; year < 2016; year += 1)
    if (((await served({ ...asked, year }))?.value ?? null) !== null) return year;
  return expect.fail('no figure');
}

const GENUINE = await Promise.all(
  [
    { id: OUTPUT, place: 'CIV', year: 2000, words: ['growth:1'] },
    { id: OUTPUT, place: 'CIV', year: 2000, words: ['per_head'] },
    { id: OUTPUT, place: '@wb-sub-saharan-africa', year: 2000, words: [] },
    { id: RATE, place: '@wb-europe-central-asia', year: 2000, words: [] },
    { id: PEOPLE, place: 'ALB', year: 2000, words: ['share:wb-europe-central-asia'] },
  ].map(async (asked): Promise<DerivationReceipt> => {
    const answer = await receiptFor({ ...asked, year: await firstProved(asked) });
    return answer.json.data;
  }),
);

type Draft = DerivationReceipt;
const isRefused = (receipt: Draft): boolean => {
  try {
    verifyDerivation(JSON.stringify(receipt), keys);
    return false;
  } catch (error) {
    if (error instanceof Refused) return true;
    throw error;
  }
};
const rule = ({ rules }: Draft, member: string): Record<string, unknown> =>
  rules.given.map((one) => one.rule as Record<string, unknown>).find((one) => one?.[member] !== undefined) ??
  {};

const FORGERIES: Record<string, (receipt: Draft) => void> = {
  'a digit of the figure': ({ figure }) => {
    figure.value = (figure.value ?? 0) * (1 + 2 ** -50);
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

describe('the verifier of derived figures', () => {
  test('accepts what was served', () => {
    expect(GENUINE.map(isRefused)).toEqual(GENUINE.map(() => false));
  });

  test.each(Object.keys(FORGERIES))('refuses another: %s', (name) => {
    for (const genuine of GENUINE) {
      const forged = structuredClone(genuine);
      FORGERIES[name]?.(forged);
      expect(isRefused(forged), forged.recipe.place).toBe(true);
    }
  });

  test('refuses another membership of a group, and territories', () => {
    for (const genuine of GENUINE.filter(({ rules }) =>
      rules.given.some(({ rule: one }) => one && 'group' in one),
    )) {
      for (const member of ['members', 'territories']) {
        const forged = structuredClone(genuine);
        (rule(forged, member)[member] as unknown[]).pop();
        expect(isRefused(forged)).toBe(true);
      }
    }
  });

  test('refuses each row that is left out, also with the path of the rest', () => {
    for (const genuine of GENUINE)
      for (const [at, { descriptor, given }] of genuine.series.entries()) {
        const rows = own(descriptor.indicator).rows.toSorted((a, b) =>
          a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1,
        );
        const leaves = rows.map(({ ci_lo = null, ci_hi = null, status = null, projected = false, ...row }) =>
          observationLeaf({ ...row, ci_lo, ci_hi, status, projected }),
        );
        const tree = MerkleTree.of([descriptorLeaf(descriptor), ...leaves]);
        for (const left of given) {
          const forged = structuredClone(genuine);
          const one = forged.series[at] ?? expect.fail();
          one.given = one.given.filter(({ index }) => index !== left.index);
          one.path = hexPath(tree.pathOfSeveral([0, ...one.given.map(({ index }) => index)]));
          expect(() => verifyDerivation(JSON.stringify(forged), keys)).toThrow(
            /left out|another|not|no such/,
          );
        }
      }
  });

  test('is a command, and imports nothing but the verifier of receipts and the arithmetic', async () => {
    const receipt = join(root, 'derived.json');
    await writeFile(receipt, JSON.stringify({ data: GENUINE[0], meta: {} }));
    const known = join(root, 'known.json');
    await writeFile(known, (await service.get('/.well-known/almanac-keys.json')).text);
    const run = (...args: string[]) =>
      spawnSync('node', ['data/proofs/verify-command.ts', ...args], { encoding: 'utf8' });
    const verified = run(receipt, '--key', known);
    expect(verified.stdout).toContain('Verified.');
    expect(verified.stdout).toContain(
      `${OUTPUT} growth:1, CIV, ${GENUINE[0]?.recipe.year}: ${GENUINE[0]?.figure.value}`,
    );
    expect([verified.status, run(receipt).status]).toEqual([0, 3]);
    const names = ['recompute', 'derivation', 'aggregate', 'transforms'];
    for (const name of names)
      expect(importsOf(`data/derived/${name}.ts`).every((one) => one.startsWith('./'))).toBe(true);
    expect(importsOf('data/proofs/verify-derivation.ts').toSorted()).toEqual([
      '../derived/aggregate.ts',
      '../derived/recompute.ts',
      './verify-receipt.ts',
      'node:crypto',
    ]);
  });
});
