import { beforeEach, describe, expect, it } from 'vitest';
import { acceptRun } from '../../../build/ingest/accept-run.ts';
import { query } from '../parquet-readers.ts';
import { cells, makeSeries, type Series, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest();
});

const lakeRows = async () => {
  const run = await world.lake('atlas').current();
  if (!run) throw new Error('no current run');
  return query(`SELECT * FROM read_parquet('${run.observations}')`);
};

describe('a run', () => {
  it('writes accepted rows sorted by series, country and year, and a record', async () => {
    await world.publish('atlas', {
      zeta: makeSeries(['FRA', 2001, '1.5'], ['afg', 2001, ''], ['world', 2001, 9], ['Nowhere', 2001, 9]),
      alpha: {
        name: 'Alpha',
        unit: 'kg',
        tags: 'a, b',
        cells: [
          ['kos', 2002, 2],
          ['kos', 2001, 1],
        ],
      },
    });
    const record = await world.ingest('atlas');
    expect(record).toMatchObject({
      provider_id: 'atlas',
      status: 'succeeded',
      rows_written: 4,
      indicators: 2,
      countries: 3,
      vintage: '1.0.0',
      newest_year: 2002,
      rejects: {
        aggregate_place: { rows: 1, samples: ['world'] },
        unknown_place: { rows: 1, samples: ['Nowhere'] },
      },
    });
    const rest = { ci_lo: null, ci_hi: null, projected: null, status: null };
    expect(await lakeRows()).toEqual([
      { indicator: 'alpha', iso3: 'XKX', year: 2001, value: 1, ...rest },
      { indicator: 'alpha', iso3: 'XKX', year: 2002, value: 2, ...rest },
      { indicator: 'zeta', iso3: 'AFG', year: 2001, value: null, ...rest },
      { indicator: 'zeta', iso3: 'FRA', year: 2001, value: 1.5, ...rest },
    ]);
    expect(world.records.map(({ status }) => status)).toEqual(['running', 'succeeded']);
  });

  it('ends as unchanged without reading an unchanged upstream, with the counts of the last good run', async () => {
    await world.publish('atlas', { one: { cells: cells(5) } });
    const first = await world.ingest('atlas');
    world.tomorrow();
    const second = await world.ingest('atlas');
    expect(second).toMatchObject({ status: 'unchanged', rows_written: 50, bytes: 0, vintage: '1.0.0' });
    expect((await world.lake('atlas').current())?.record.run_id).toBe(first.run_id);
  });

  it('reads an unchanged upstream again when the definition changed', async () => {
    await world.publish('atlas', { one: { cells: cells(5) } });
    await world.ingest('atlas');
    await world.define('atlas', {
      indicators: { one: { max: 5 } },
      gates: { max_row_drop: 1, max_country_drop: 1 },
    });
    world.tomorrow();
    const record = await world.ingest('atlas');
    expect(record.status).toBe('succeeded');
    expect(record.rejects.out_of_bounds?.rows).toBeGreaterThan(0);
  });

  it('fails a series with two different values for one country and year, and keeps the others', async () => {
    await world.publish('atlas', {
      bad: makeSeries(['FRA', 2001, 1], ['fra', 2001, 2]),
      good: { cells: cells(2) },
    });
    const record = await world.ingest('atlas');
    expect(record).toMatchObject({
      status: 'succeeded',
      indicators: 1,
      rows_read: 22,
      rows_written: 20,
      failed_indicators: [
        { slug: 'bad', reason: 'FRA 2001 has two different values: 1 of "FRA" and 2 of "fra"', rows: 2 },
      ],
    });
  });

  it('keeps the last good rows of a series that fails', async () => {
    await world.publish('atlas', { one: { cells: cells(5) }, two: { name: 'Two', cells: cells(4) } });
    await world.ingest('atlas');
    world.tomorrow();
    await world.publish('atlas', {
      one: { cells: cells(6) },
      two: makeSeries(['FRA', 2001, 1], ['FRA', 2001, 2]),
    });
    const record = await world.ingest('atlas');
    expect(record).toMatchObject({ status: 'succeeded', rows_written: 100, carried_indicators: ['two'] });
    expect(record).toMatchObject({ rows_read: 62, rows_carried: 40, failed_indicators: [{ rows: 2 }] });
    const rows = await lakeRows();
    expect(rows.filter(({ indicator }) => indicator === 'two')).toHaveLength(40);
    const order = rows.map(({ indicator, iso3, year }) => `${indicator} ${iso3} ${year}`);
    expect(order).toEqual(order.toSorted());
  });

  it('ignores files that are not series of numbers', async () => {
    await world.publish('atlas', {
      mountains: { type: 'string', cells: [['FRA', 2001, '{"a":1}']] },
      one: { cells: cells(1) },
    });
    expect(await world.ingest('atlas')).toMatchObject({ indicators: 1, failed_indicators: [] });
  });
});

describe('a suspicious run', () => {
  const publishAndIngest = async (series: Record<string, Series>) => {
    await world.publish('atlas', series);
    const record = await world.ingest('atlas');
    world.tomorrow();
    return record;
  };

  it('is held, and the last good run stays current', async () => {
    const good = await publishAndIngest({ one: { cells: cells(5) } });
    const held = await publishAndIngest({ one: { cells: cells(3) } });
    expect(held).toMatchObject({
      status: 'suspicious',
      reason: expect.stringContaining('rows fell by 40.0 %'),
    });
    expect(held.reason).toContain('newest year went back from 2004 to 2002');
    expect((await world.lake('atlas').current())?.record.run_id).toBe(good.run_id);
  });

  it('becomes a new current run when an operator accepts it, and stays unchanged itself', async () => {
    await publishAndIngest({ one: { cells: cells(5) } });
    const named = await publishAndIngest({ one: { unit: 'kg', cells: cells(5) } });
    expect(named).toMatchObject({ status: 'succeeded', revisions: { added: 0, changed: 0, removed: 0 } });
    const worse = await publishAndIngest({ one: { unit: 't', cells: cells(6) } });
    expect(worse).toMatchObject({ status: 'suspicious', reason: expect.stringContaining('unit changed') });
    const accepted = await acceptRun(await world.dependencies(), 'atlas', worse.run_id);
    expect(accepted).toMatchObject({ status: 'succeeded', rows_written: 60, accepted_run: worse.run_id });
    expect((await world.lake('atlas').current())?.record.run_id).toBe(accepted.run_id);
    expect((await world.lake('atlas').record(worse.run_id)).status).toBe('suspicious');
    expect(await lakeRows()).toHaveLength(60);
    await expect(acceptRun(await world.dependencies(), 'atlas', accepted.run_id)).rejects.toThrow('not held');
  });
});
