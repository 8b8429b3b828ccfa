/** The quality report of a build: findings from night to night, what decisions do, and where they are published. */
import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { CheckContext, QualityCheck } from '../../../build/quality/check.ts';
import { runChecks } from '../../../build/quality/report.ts';
import type { ExcludedIndicator } from '../../../data/schema/jobs.ts';
import type { QualityFinding } from '../../../data/schema/quality.ts';
import { ADDITIONS, additionFile, observationsFile } from '../../../data/schema/snapshot.ts';
import { readKept } from '../../shown-snapshot.ts';
import { query, readObservations } from '../parquet-readers.ts';
import { type Cell, SERVED, type Series, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest();
});

/** A share in per cent with some values of France above 100. */
const share = (...tooHigh: number[]): Series => ({
  name: 'Household spending (% of total expenditure)',
  unit: 'percent',
  cells: [
    ...[10, 20, 30].flatMap((value, at): Cell[] => [
      ['DEU', 2000 + at, value],
      ['JPN', 2000 + at, value / 2],
    ]),
    ...tooHigh.map((value, at): Cell => ['FRA', 2000 + at, value]),
  ],
});
const called = (who: string, series: Series): Series => ({
  ...series,
  name: `${who} spending (% of total expenditure)`,
});
const plain: Series = {
  name: 'Cattle',
  unit: 'head',
  cells: [
    ['DEU', 2000, 500],
    ['FRA', 2000, 400],
    ['JPN', 2000, 300],
  ],
};

async function night(series: Record<string, Series>) {
  await world.ingestSeries(series);
  return world.build();
}

const decide = (...rows: string[]): Promise<void> => world.list('quality-decisions', ...rows);

const reported = (night: string) => world.findings(night);

async function published() {
  const lists = await readKept(await world.served(), additionFile('quality', 'atlas'));
  return z.record(z.string(), ADDITIONS.quality).parse(lists);
}

describe('the quality report', () => {
  it('stands in the lake by night, and in the snapshot for readers', async () => {
    const { quality } = await night({ share: share(99, 2634, 101), plain });
    expect(quality).toEqual({
      findings: 1,
      open_errors: 1,
      open_warnings: 0,
      open_notices: 0,
      new: 0,
      worse: 0,
      gone: 0,
    });
    const [finding] = await reported('2026-11-20');
    expect(finding).toMatchObject({
      kind: 'share_out_of_range',
      severity: 'error',
      provider: 'atlas',
      indicator: 'atlas.share',
      other: null,
      countries: ['FRA'],
      years: [2001, 2002],
      extent: 2,
      message: 'France is 2,634 % in 2001; 2 values of 1 country lie outside 0 to 100 %.',
      first_seen: '2026-11-20T12:00:00+00:00',
      change: null,
      decision: null,
      lapsed: null,
    });
    const { severity, message, first_seen } = finding ?? {};
    expect(await published()).toMatchObject({ 'atlas.share': [{ severity, message, first_seen }] });
  });

  it('tells what is new, worse and gone since the night before, and since when it is found', async () => {
    await night({ share: share(101), other: called('Other', share(102)) });
    world.tomorrow();
    const third = called('Third', {
      ...share(),
      cells: plain.cells.map(([place, year]) => [place, year, 103]),
    });
    const second = await night({ share: share(101, 101), third, plain });
    expect(second.quality).toMatchObject({ findings: 2, new: 1, worse: 1, gone: 1 });
    const byId = new Map((await reported('2026-11-21')).map((one) => [one.indicator, one]));
    expect(byId.get('atlas.share')).toMatchObject({
      change: 'worse',
      first_seen: '2026-11-20T12:00:00+00:00',
    });
    expect(byId.get('atlas.third')).toMatchObject({ change: 'new', first_seen: '2026-11-21T12:00:00+00:00' });
  });

  it('compares with another day, however often a day is built', async () => {
    await night({ share: share(101), plain });
    world.tomorrow();
    await night({ share: share(101), third: called('Third', share(103)), plain });
    world.clock += 3_600_000;
    const { quality } = await world.build();
    expect(quality).toMatchObject({ findings: 2, new: 1, worse: 0, gone: 0 });
    const third = (await reported('2026-11-21')).find(({ indicator }) => indicator === 'atlas.third');
    expect(third).toMatchObject({ change: 'new', first_seen: '2026-11-21T12:00:00+00:00' });
  });

  it('counts anew a finding that a night between had not', async () => {
    await night({ share: share(101), plain });
    world.tomorrow();
    await night({ share: share(99), plain });
    expect(await reported('2026-11-21')).toEqual([]);
    world.tomorrow();
    await night({ share: share(101), plain });
    expect(await reported('2026-11-22')).toMatchObject([
      { change: 'new', first_seen: '2026-11-22T12:00:00+00:00' },
    ]);
  });
});

describe('a finding that is told by comparison', () => {
  const level = (factor: number): Series => ({
    name: 'Cattle',
    unit: 'head',
    cells: SERVED.flatMap((place, at) =>
      [0, 1, 2].map((y): Cell => [place, 2000 + y, factor * (500 + at + y)]),
    ),
  });
  const found = async (date: string): Promise<QualityFinding[]> =>
    (await reported(date)).filter(({ kind }) => kind === 'level_changed');

  it('stands until it is decided, also when it is not found again', async () => {
    await night({ cattle: level(1), plain });
    world.tomorrow();
    await night({ cattle: level(4), plain });
    const finding = { indicator: 'atlas.cattle', extent: 4, decision: null };
    expect(await found('2026-11-21')).toMatchObject([{ ...finding, change: 'new' }]);
    await world.build();
    expect(await found('2026-11-21')).toMatchObject([{ ...finding, change: 'new' }]);
    world.tomorrow();
    await world.build();
    expect(await found('2026-11-22')).toMatchObject([
      { ...finding, change: null, first_seen: '2026-11-21T12:00:00+00:00' },
    ]);
    await decide('level_changed,atlas.cattle,,3,accept,ada,2026-11-22,A census.');
    await world.build();
    expect(await found('2026-11-22')).toMatchObject([{ ...finding, lapsed: { extent: 3 } }]);
    await decide('level_changed,atlas.cattle,,4,accept,ada,2026-11-22,A census.');
    await world.build();
    expect(await found('2026-11-22')).toEqual([]);
  });
});

describe('a decision', () => {
  const row = (extent: number, decision: string): string =>
    `share_out_of_range,atlas.share,,${extent},${decision},ada,2026-11-20,"Counted twice, at the source."`;

  it('closes a finding up to its extent, and opens it again beyond', async () => {
    await decide(row(2, 'accept'));
    const { quality } = await night({ share: share(101, 102) });
    expect(quality).toMatchObject({ findings: 1, open_errors: 0 });
    expect(await published()).toMatchObject({
      'atlas.share': [{ decision: 'accept', reason: 'Counted twice, at the source.' }],
    });
    world.tomorrow();
    const worse = await night({ share: share(101, 102, 103) });
    expect(worse.quality).toMatchObject({ findings: 1, open_errors: 1, worse: 1 });
    expect(await reported('2026-11-21')).toMatchObject([
      {
        decision: null,
        reason: null,
        lapsed: { decision: 'accept', extent: 2, by: 'ada', on: '2026-11-20' },
      },
    ]);
  });

  it('to fix does not close a finding that is still found', async () => {
    await decide(row(2, 'fix'));
    const { quality } = await night({ share: share(101) });
    expect(quality).toMatchObject({ open_errors: 1 });
    expect(await reported('2026-11-20')).toMatchObject([{ decision: null, lapsed: { decision: 'fix' } }]);
  });

  it('to withhold takes the series out of the snapshot, and says so to operators', async () => {
    await decide(row(2, 'withhold'));
    const excluded: ExcludedIndicator[] = [];
    await world.ingestSeries({ share: share(101), plain });
    await world.build({ observer: { onExcluded: (all) => excluded.push(...all) } });
    expect(excluded).toMatchObject([{ id: 'atlas.share', why: 'withheld' }]);
    const { files } = await world.served();
    expect(Object.keys(files).filter((file) => file.includes('share'))).toEqual([]);
  });

  it('to unrank publishes the figures without ranks, whatever an operator set', async () => {
    await decide(row(2, 'unrank'));
    await world.ingestSeries({ share: share(101), plain });
    await world.build({ overrides: new Map([['atlas.share', { no_rank: false }]]) });
    const { directory } = await world.served();
    const rows = await readObservations(join(directory, observationsFile('atlas.share')));
    expect(rows.map(({ value, rank }) => [value, rank])).toEqual([
      [10, null],
      [20, null],
      [30, null],
      [101, null],
      [5, null],
      [10, null],
      [15, null],
    ]);
    expect((await world.body('routes/indicators/atlas.share.json')).data).toMatchObject({ no_rank: true });
    expect(await published()).toMatchObject({ 'atlas.share': [{ decision: 'unrank' }] });
  });

  it('whose reason names a withheld series is kept from readers, with its finding', async () => {
    await decide(
      'share_out_of_range,atlas.share,,9,accept,ada,2026-11-20,The same as in atlas.secret.',
      'share_out_of_range,atlas.secret,,9,withhold,ada,2026-11-20,Wrong.',
    );
    await night({ share: share(101), secret: called('Public', share(101)), plain });
    expect(await reported('2026-11-20')).toMatchObject([{ indicator: 'atlas.share', decision: 'accept' }]);
    expect(await published()).toEqual({});
  });

  it('that matches nothing is told in the log', async () => {
    await decide(
      row(2, 'accept'),
      'share_out_of_range,atlas.plain,,9,fix,ada,2026-11-20,The unit was wrong.',
      'share_out_of_range,atlas.pain,,9,fix,ada,2026-11-20,The unit was wrong.',
    );
    const lines: Record<string, unknown>[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    await world.ingestSeries({ share: share(99), plain });
    await world.build({ log });
    expect(lines.filter(({ msg }) => msg === 'a quality decision matches no finding')).toMatchObject([
      { subject: 'atlas.share', decision: 'accept' },
      { subject: 'atlas.pain', decision: 'fix' },
    ]);
  });
});

it('reads the report of a version that had other kinds, and removes what a crash left', async () => {
  await night({ share: share(101), other: share(102) });
  const reports = join(world.settings.LAKE_DIR, 'quality');
  const file = join(reports, '2026-11-20.parquet');
  const isOther = "kind = 'share_out_of_range' AND indicator = 'atlas.other'";
  const rows = `SELECT * REPLACE (if(${isOther}, 'of_yesterday', kind) AS kind) FROM '${file}'`;
  await query(`COPY (${rows}) TO '${file}.next' (FORMAT parquet)`);
  await rename(`${file}.next`, file);
  await writeFile(`${file}.draft.tmp`, 'half');
  world.tomorrow();
  const { quality } = await world.build();
  expect(quality).toMatchObject({ new: 1, worse: 0, gone: 0 });
  expect(await readdir(reports)).toEqual(['2026-11-20.parquet', '2026-11-21.parquet']);
});

it('finds a failing check, and keeps what it found the night before of series that are still published', async () => {
  await night({ share: share(101), other: called('Other', share(102)) });
  const before = await reported('2026-11-20');
  const broken: QualityCheck = {
    kinds: ['share_out_of_range'],
    find: () => Promise.reject(new Error('broken')),
  };
  const context = { published: new Map([['atlas.share', {}]]), known: before } as unknown as CheckContext;
  const log = pino({ level: 'silent' });
  expect(await runChecks([broken], context, log)).toMatchObject([
    { indicator: 'atlas.share', extent: 1 },
    { kind: 'check_failed', message: expect.stringContaining('share_out_of_range (broken)') },
  ]);
});

it('reports a finding once that two checks find', async () => {
  await night({ share: share(101) });
  const before = await reported('2026-11-20');
  const check: QualityCheck = { kinds: ['share_out_of_range'], find: async () => before };
  const context = { series: new Map(), known: [] } as unknown as CheckContext;
  const log = pino({ level: 'silent' });
  const found = await runChecks([check, check], context, log);
  expect(found.filter(({ kind }) => kind === 'share_out_of_range')).toHaveLength(1);
});
