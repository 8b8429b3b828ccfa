import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { findLostPlaces } from '../../../build/ingest/definition-gaps.ts';
import { runReport } from '../../../build/ingest/run-report.ts';
import { loadCurated } from '../../../data/curated/curated.ts';
import { foldName } from '../../../data/curated/places.ts';
import { cells, DATA, makeSeries, World } from '../world.ts';

describe('lost places', async () => {
  const curated = await loadCurated(DATA);
  const lost = (unknown: string[], seen: string[] = []) =>
    findLostPlaces(unknown, new Set(seen), curated).map(({ place, iso3 }) => [place, iso3]);

  it('are found by a code of another scheme', () => {
    fc.assert(
      fc.property(fc.constantFrom(...curated.countries.filter(({ enabled }) => enabled)), (country) => {
        expect(lost([country.iso3.toLowerCase()])).toEqual([[country.iso3.toLowerCase(), country.iso3]]);
        expect(lost([country.name])).toEqual([[country.name, country.iso3]]);
      }),
    );
  });

  it.each([
    ['France (metropolitan)', 'FRA'],
    ['Itally', 'ITA'],
    ['Congo, Dem. Rep.', 'COD'],
    ['Macedonia, FYR', 'MKD'],
    ['Turkiye Republic', 'TUR'],
  ])('are found by a name that is spelled otherwise: %s', (place, iso3) => {
    const others = curated.countries.map((country) => country.iso3).filter((one) => one !== iso3);
    expect(lost([place], others)).toEqual([[place, iso3]]);
  });

  it('are found by a name with one letter wrong, when no other country is missing', () => {
    const long = curated.countries.filter(({ enabled, name }) => enabled && foldName(name).length >= 6);
    fc.assert(
      fc.property(fc.constantFrom(...long), fc.nat(), (country, at) => {
        const name = foldName(country.name);
        const wrong = `${name.slice(0, at % name.length)}0${name.slice((at % name.length) + 1)}`;
        const others = curated.countries.map(({ iso3 }) => iso3).filter((iso3) => iso3 !== country.iso3);
        expect(lost([wrong], others)).toEqual([[wrong, country.iso3]]);
      }),
    );
  });

  it('are none of the countries that have rows, no group, and nothing that is like no country', () => {
    const all = curated.countries.map(({ iso3 }) => iso3);
    expect(lost(['France (metropolitan)', 'FRA', 'Itally'], all)).toEqual([]);
    expect(lost(['European Union (27)', 'World', 'WLD', 'xyz', '', '  ', '(1)'])).toEqual([]);
  });

  it.each([
    ['Papua-New-Guinea (island)', 'GIN', 'another country fits it better'],
    ['Irelande', 'ISL', 'another country fits it better'],
    ['Korea', 'PRK', 'it is part of several names'],
    ['America', 'USA', 'it is a name that people use and providers do not'],
    ['CAR', 'CAF', 'it is a name that people use and providers do not'],
  ])('are no guess: "%s" is not %s, since %s', (place, iso3) => {
    const others = curated.countries.map((country) => country.iso3).filter((one) => one !== iso3);
    expect(lost([place], others)).toEqual([]);
  });
});

describe('a run of a new provider', () => {
  let world: World;
  beforeEach(async () => {
    world = await World.ofTest();
  });
  const report = (record: Parameters<typeof runReport>[0]) => runReport(record, 'run.json').join('\n');

  it('names the places that it lost, also when upstream is unchanged', async () => {
    const rows = cells(2).filter(([place]) => place !== 'FRA' && place !== 'jpn');
    await world.publish('atlas', {
      one: { cells: [...rows, ['France', 2000, 1], ['Japan', 2000, 2], ['Oz', 2000, 3]] },
    });
    const record = await world.ingest('atlas');
    expect(record).toMatchObject({
      status: 'succeeded',
      lost_places: [
        { place: 'France', iso3: 'FRA', name: 'France' },
        { place: 'Japan', iso3: 'JPN', name: 'Japan' },
      ],
    });
    expect(report(record)).toContain('3 rows of places that are unknown: France, Japan, Oz');
    expect(report(record)).toContain(
      '2 countries of the list without a row: "France" (France?), "Japan" (Japan?)',
    );
    world.tomorrow();
    expect(await world.ingest('atlas')).toMatchObject({
      status: 'unchanged',
      lost_places: record.lost_places,
    });
    await world.define('atlas', { places: ['iso3', 'old', 'names'] });
    expect((await world.ingest('atlas')).lost_places).toBeUndefined();
  });

  it('calls no country lost whose figures it took over from the run before', async () => {
    const one = { cells: cells(2).filter(([place]) => place !== 'FRA') };
    const two = makeSeries(['FRA', 2000, 1], ['DEU', 2000, 2]);
    await world.publish('atlas', { one, two });
    const { countries } = await world.ingest('atlas');
    world.tomorrow();
    const odd = makeSeries(['DEU', 2000, 1], ['DEU', 2000, 2], ['France', 2000, 3]);
    await world.publish('atlas', { one, two: odd });
    const record = await world.ingest('atlas');
    expect(record).toMatchObject({ status: 'succeeded', countries, carried_indicators: ['two'] });
    expect(record.rejects).toMatchObject({ unknown_place: { samples: ['France'] } });
    expect(record.lost_places).toBeUndefined();
  });

  it('names settings that fit no series, with the nearest one', async () => {
    await world.define('atlas', {
      rules: [
        { slug: '^inc', set: { unit: 'USD' } },
        { slug: '^outcome', tag: 'x', set: { unit: 'USD' } },
      ],
      indicators: { incomes: { unit: 'USD' }, income: { unit: 'EUR' } },
    });
    await world.write('data/overlay/atlas.csv', 'slug,unit\nincome,EUR\npopulaton,people\n');
    await world.list('concepts', 'income,Income,economy,true,atlas.income,');
    await world.list('concept-series', 'income,atlas.income,,,', 'income,atlas.incom_old,,,');
    await world.list('measures', 'atlas.incme,,,amount,,sum,,atlas.populatio,Money.');
    await world.publish('atlas', { income: { cells: cells(1) }, population: { cells: cells(1) } });
    const record = await world.ingest('atlas');
    expect(record.unused_settings).toEqual([
      'rules.1 (slug: ^outcome, tag: x) matches no series',
      'indicators: there is no series "incomes"; the nearest is "income"',
      'overlay/atlas.csv:3: there is no series "populaton"; the nearest is "population"',
      'concept-series.csv: there is no series "incom_old"; the nearest is "income"',
      'measures.csv:2: there is no series "incme"; the nearest is "income"',
      'measures.csv:2: there is no series "populatio"; the nearest is "population"',
    ]);
    expect(report(record)).toContain('the nearest is "population"');
  });

  it('takes a series that failed for one that there is', async () => {
    await world.define('atlas', { rules: [{ slug: '^broken$', set: {} }], indicators: { broken: {} } });
    await world.publish('atlas', {
      good: { cells: cells(1) },
      broken: makeSeries(['FRA', 2000, 1], ['fra', 2000, 2]),
    });
    const record = await world.ingest('atlas');
    expect(record.failed_indicators.map(({ slug }) => slug)).toEqual(['broken']);
    expect(record.unused_settings).toBeUndefined();
  });

  it('is not held when only its definition was corrected', async () => {
    await world.publish('atlas', {
      one: { cells: cells(9) },
      two: { cells: cells(9) },
      three: { cells: cells(9) },
    });
    await world.ingest('atlas');
    await world.define('atlas', { source: { exclude: ['two', 'three'] } });
    world.tomorrow();
    expect(await world.ingest('atlas')).toMatchObject({
      status: 'succeeded',
      indicators: 1,
      rows_written: 90,
    });
  });

  it('is held when upstream changed with the definition, and names the command that accepts it', async () => {
    await world.publish('atlas', { one: { cells: cells(9) }, two: { cells: cells(9) } });
    await world.ingest('atlas');
    await world.define('atlas', { name: 'The other atlas' });
    world.tomorrow();
    await world.publish('atlas', { one: { cells: cells(9) } });
    const record = await world.ingest('atlas');
    expect(record).toMatchObject({ status: 'suspicious', reason: expect.stringContaining('rows fell') });
    expect(report(record)).toContain(`npm run build-data -- accept --provider atlas --run ${record.run_id}`);
  });
});
