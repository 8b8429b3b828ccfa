/** GET /verify over published snapshots: verdicts, reasons, what may not be shown, and what it costs. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Cell, cells, World } from '../../../../build/world.ts';
import { useService } from '../../../service.ts';

const rows = (text: string): Cell[] =>
  text.split(', ').map((row) => {
    const [place = '', year = '', value = ''] = row.split(' ');
    return [place, year, value];
  });

const USE =
  'ken 2018 160, ken 2019 170.25, ken 2020 182.4, ken 2021 190, fra 2018 7000, fra 2019 6900.5, ' +
  'fra 2020 6650, usa 2020 12000, deu 2019 0.4, deu 2020 0';

/** Publishes a snapshot. @returns its id */
async function night(atlas: string, beacon: string, gazette: string): Promise<string> {
  await world.publish('atlas', { use: { unit: 'kWh', cells: rows(atlas) }, other: { cells: cells(3) } });
  await world.publish('beacon', { use: { unit: 'MWh', cells: rows(beacon) } });
  await world.publish('gazette', { use: { unit: 'kWh', cells: rows(gazette) } });
  await world.publish('hidden', { use: { unit: 'kWh', cells: rows('ken 2020 166.5') } });
  for (const provider of ['atlas', 'beacon', 'gazette', 'hidden']) await world.ingest(provider);
  return (await world.build()).snapshot;
}

const world = await World.use({
  atlas: {},
  beacon: {},
  gazette: { access_tier: 'display' },
  hidden: { redistributable: false },
});
await world.list('concepts', 'energy,Energy use,energy,false,atlas.use,2021');
await world.list(
  'concept-series',
  ...['energy,atlas.use,,,', 'energy,beacon.use,1000,,', 'energy,gazette.use,,,', 'energy,hidden.use,,,'],
);
/** The snapshot before the served one. */
const first = await night(
  `${USE}, fra 1999 55`.replace('182.4', '186.25'),
  'ken 2020 0.1855, ken 2017 0.155',
  'ken 2020 205.5, ken 2019 177',
);
world.tomorrow();
await night(USE, 'ken 2020 0.1855, ken 2017 0.155', 'ken 2020 199.5, ken 2019 177');
const service = await useService({ snapshots: world.settings.SNAPSHOT_DIR });
const owner = await service.account({ credits: 100_000 });

const urlOf = (claims: readonly string[]): string =>
  `/v1/verify?${claims.map((claim) => `claim=${encodeURIComponent(claim)}`).join('&')}`;
const ask = (...claims: string[]) => service.get(urlOf(claims), { key: owner.key });
const judged = async (claim: string) => (await ask(claim)).json.data[0];

test.each([
  ['atlas.none,KEN,2020,1', { verdict: 'unknown', unknown: 'indicator', value: null, unit: null }],
  ['atlas.use,ZZZ,2020,1', { verdict: 'unknown', unknown: 'iso3', value: null, projected: null }],
  // Known to Almanac, and not served: it is not told apart from one that does not exist.
  ['hidden.use,KEN,2020,166.5', { verdict: 'unknown', unknown: 'indicator' }],
  ['atlas.use,KEN,1900,1', { verdict: 'no_data', value: null, unit: 'kWh', projected: null }],
  ['atlas.use,BRA,2020,77', { verdict: 'no_data', value: null }],
  [
    'atlas.use,ken,2020,182.40',
    { verdict: 'exact', value: 182.4, unit: 'kWh', projected: false, iso3: 'KEN' },
  ],
  ['atlas.use,KEN,2021,190', { verdict: 'exact', value: 190, projected: true }],
  ['atlas.use,KEN,2019,170.3', { verdict: 'rounded', value: 170.25 }],
  ['atlas.use,KEN,2019,170.2', { verdict: 'rounded', value: 170.25 }],
  ['atlas.use,DEU,2020,-0', { verdict: 'exact', value: 0, number: 0, deviation_percent: 0 }],
  ['atlas.use,DEU,2020,3', { verdict: 'mismatch', value: 0, deviation_percent: null }],
  ['atlas.use,FRA,2018,7,000', { verdict: 'exact', number: 7000, digits: 1, deviation_percent: 0 }],
  ['atlas.use,USA,2020,12.0 thousand', { verdict: 'exact', number: 12_000, digits: 3 }],
  ['atlas.use,KEN,2020,200', { verdict: 'rounded', number: 200, digits: 1, deviation_percent: 9.649 }],
  ['atlas.use,DEU,2019,0,36', { verdict: 'mismatch', number: 0.36, digits: 2, deviation_percent: -10 }],
  ['atlas.use,DEU,2019,40 %', { verdict: 'exact', number: 0.4, digits: 1 }],
  [
    'atlas.use,KEN,2020,12 kWh',
    {
      verdict: 'unreadable',
      number: null,
      digits: null,
      value: null,
      deviation_percent: null,
      unread: [{ part: 'value', expected: expect.stringContaining('without currency and unit') }],
    },
  ],
  ['atlas.use,KENYYA', { verdict: 'unreadable', iso3: null, year: null, reasons: [] }],
  ['atlas.use,KEN,2020,183', { verdict: 'close', value: 182.4, reasons: [] }],
  ['atlas.use,KEN,2020,431', { verdict: 'mismatch', value: 182.4, reasons: [] }],
])('verdicts %s', async (claim, expected) => {
  const row = await judged(claim);
  expect(row).toMatchObject({ claim, unknown: null, ...expected });
  expect(row.edition).toBe(service.snapshots.current()?.id);
});

test.each([
  ['atlas.use,KEN,2020,186.25', 'superseded', 182.4, 186.25],
  ['atlas.use,KEN,2020,186.3', 'superseded', 182.4, 186.25],
  // Right today comes first.
  ['atlas.use,KEN,2020,182.4', 'exact', 182.4, null],
  // Withdrawn.
  ['atlas.use,FRA,1999,55', 'no_data', null, 55],
  ['gazette.use,KEN,2020,205.5', 'superseded', null, null],
])('an earlier figure %s', async (claim, verdict, value, was) => {
  const row = await judged(claim);
  expect(row).toMatchObject({ verdict, value, reasons: [] });
  const isTold = verdict !== 'exact';
  expect(row.earlier).toEqual(
    isTold ? { value: was, unit: row.unit, edition: first, superseded_by: row.edition } : null,
  );
});

describe('reasons', () => {
  test.each([
    ['atlas.use,KEN,2020,170.25', { reason: 'wrong_year', year: 2019, value: 170.25, factor: 1 }],
    ['atlas.use,BRA,2020,12000', { reason: 'wrong_country', iso3: 'USA', value: 12000 }],
    ['atlas.use,KEN,2020,6650', { reason: 'wrong_country', iso3: 'FRA', value: 6650 }],
    ['atlas.use,KEN,2020,0.1824', { reason: 'scale', year: 2020, value: 182.4, factor: 1000 }],
    ['atlas.use,KEN,2020,18240', { reason: 'scale', value: 182.4, factor: 0.01 }],
    [
      'atlas.use,KEN,2020,0.1855',
      { reason: 'other_provider', indicator: 'beacon.use', value: 0.1855, factor: 1 },
    ],
    ['atlas.use,KEN,2020,185.5', { reason: 'other_provider', indicator: 'beacon.use', factor: 0.001 }],
    // There is a figure of another series, where this one has none.
    ['atlas.use,KEN,2017,155', { reason: 'other_provider', indicator: 'beacon.use' }],
  ])('%s', async (claim, expected) => {
    const { verdict, reasons } = await judged(claim);
    expect(['close', 'mismatch', 'no_data']).toContain(verdict);
    expect(reasons).toEqual([expect.objectContaining({ fit: 'exact', matches: 1, ...expected })]);
  });

  test('name their indicators in meta, with licence and credit line', async () => {
    const { json } = await ask('atlas.use,KEN,2020,185.5', 'atlas.other,KEN,2000,1');
    expect(json.meta.count).toBe(2);
    expect(json.meta.indicators.map(({ id }: { id: string }) => id)).toEqual([
      'atlas.use',
      'beacon.use',
      'atlas.other',
    ]);
    expect(json.meta.indicators[1]).toEqual({
      id: 'beacon.use',
      name: 'use',
      unit: 'MWh',
      licence: 'CC BY 4.0',
      licence_url: 'https://creativecommons.org/licenses/by/4.0/',
      attribution: 'Figures of the beacon',
    });
  });
});

describe('what may not be shown', () => {
  test.each([
    ['gazette.use,KEN,2020,199.5', 'exact'],
    ['gazette.use,KEN,2020,200', 'rounded'],
    ['gazette.use,KEN,2020,198', 'close'],
    ['gazette.use,KEN,2020,177', 'mismatch'],
    ['gazette.use,KEN,2020,182.4', 'mismatch'],
    ['gazette.use,KEN,1950,1', 'no_data'],
  ])('a display-only indicator has a verdict without figures: %s', async (claim, verdict) => {
    const answer = await ask(claim);
    const [row] = answer.json.data;
    expect(row).toMatchObject({
      verdict,
      value: null,
      deviation_percent: null,
      unit: 'kWh',
      earlier: null,
      reasons: [],
    });
    for (const figure of ['199.5', '177', '182.4']) {
      const { claim: _claim, number: _number, ...rest } = row;
      expect(JSON.stringify(rest)).not.toContain(figure);
    }
  });

  test('a display-only twin is named without its figure', async () => {
    const { reasons } = await judged('atlas.use,KEN,2020,199.5');
    expect(reasons).toEqual([
      expect.objectContaining({ reason: 'other_provider', indicator: 'gazette.use', value: null }),
    ]);
  });

  test('a withheld twin is never read', async () => {
    expect((await judged('atlas.use,KEN,2020,166.5')).reasons).toEqual([]);
  });
});

describe('a call', () => {
  test('costs a credit a claim, repeated ones too, in the order sent', async () => {
    const account = await service.account({ credits: 10 });
    const claims = ['atlas.use,KEN,2020,182.4', 'none.x,KEN,2020,1', 'atlas.use,KEN,2020,182.4'];
    const answer = await service.get(urlOf(claims), { key: account.key });
    expect(answer.json.data.map(({ claim }: { claim: string }) => claim)).toEqual(claims);
    expect(answer.headers['x-credits-charged']).toBe('3');
    expect(await service.balance(account)).toBe(7);
    const { json } = await service.get('/v1/usage?days=1', { key: account.key });
    expect(json.data.endpoints).toContainEqual({
      route: '/v1/verify',
      requests: 1,
      errors: 0,
      rows: 3,
      credits: 3,
    });
  });

  test('judges each of its claims as if it were alone, and charges those that can be read', async () => {
    const good = fc.constantFrom(
      ...['atlas.use,KEN,2020,182.4', 'none.x,KEN,1,1', 'gazette.use,KEN,2020,-1e3'],
      ...['atlas.use,KEN,2020,0.18 thousand', 'atlas.use,FRA,2018,7,000', 'atlas.use,KEN,2019,170,25'],
    );
    const unreadable = [
      '',
      'atlas.use',
      'atlas.use,KEN,2020,1,00,0',
      'atlas.use,K,2020,1',
      'atlas.use,KEN,x,12 $',
    ];
    const calls = fc.array(
      fc.oneof({ arbitrary: good, weight: 4 }, { arbitrary: fc.constantFrom(...unreadable), weight: 1 }),
      { maxLength: 60, size: 'max' },
    );
    const alone = new Map<string, unknown>();
    const account = await service.account({ credits: 100_000 });
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(calls, async (claims) => {
        for (const one of claims) if (!alone.has(one)) alone.set(one, await judged(one));
        const before = await service.balance(account);
        const { status, json } = await service.get(urlOf(claims), { key: account.key });
        const isGood = claims.length > 0 && claims.length <= 50;
        seen.add(status);
        expect(status).toBe(isGood ? 200 : 422);
        if (isGood) expect(json.data).toEqual(claims.map((one) => alone.get(one)));
        const read = claims.filter((one) => !unreadable.includes(one)).length;
        expect(before - (await service.balance(account))).toBe(isGood ? read : 0);
      }),
      { numRuns: 60 },
    );
    expect(seen).toEqual(new Set([200, 422]));
    const verdicts = [...alone].filter(([, row]) => (row as { verdict: string }).verdict === 'unreadable');
    expect(new Set(verdicts.map(([text]) => text))).toEqual(new Set(unreadable));
  });
});
