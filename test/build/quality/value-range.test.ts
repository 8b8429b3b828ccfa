/** The range of values that a series' labels allow. */
import { describe, expect, it } from 'vitest';
import { valueRange } from '../../../build/quality/checks/values.ts';

const range = (name: string, unit: string | null) => {
  const { low, high } = valueRange({ name, unit });
  return [low, high];
};

describe('the range of values of a series', () => {
  it.each([
    ['Salaried workers (% of employment)', 'percent'],
    ['Individuals using the Internet (% of population)', '% of population'],
    ['Employment to population ratio, 15+, total (%)', '%'],
    ['Poverty gap at $3.00 a day (%)', '%'],
    ['Agricultural water withdrawal (% of total)', 'percent'],
    ['Fuel exports (% of merchandise exports)', '% of merchandise exports'],
    ['Health aid given (% of aid)', 'percent'],
    ['School enrollment, primary (% net)', '% net'],
  ])('is 0 to 100 for a share of a whole: %s', (name, unit) => {
    expect(range(name, unit)).toEqual([0, 100]);
  });

  it.each([
    ['Imports (% of GDP)', 'percent', 0],
    ['Central government debt (% of GDP)', '% of GDP', 0],
    ['School enrollment, primary (% gross)', '% gross', 0],
    ['Age dependency ratio (% of working-age population)', '% of working-age population', 0],
    ['Annual freshwater withdrawals, total (% of internal resources)', '% of internal resources', 0],
    ['Net ODA received (% of GNI)', '% of GNI', null],
    ['Current account balance', '% of GDP', null],
    ['Inflation, consumer prices (annual %)', 'annual %', null],
    ['Real GDP growth', '% change', null],
  ])('has no upper end where the part may exceed the whole: %s', (name, unit, low) => {
    expect(range(name, unit)).toEqual([low, null]);
  });

  it.each([
    ['CPIA cluster average', '1=low to 6=high', [null, null]],
    ['Human Development Index', 'index from 0 to 1', [null, null]],
    ['Democracy score', 'points from -10 to 10', [null, null]],
    ['Nondiscrimination clause', '1=yes; 0=no', [null, null]],
    ['Crop production index (2014-2016 = 100)', '2014-2016 = 100', [0, null]],
  ])('is open where the unit states its own ends: %s', (name, unit, expected) => {
    expect(range(name, unit)).toEqual(expected);
  });

  it.each([
    ['Deaths of children', 'deaths', [0, null]],
    ['Net migration', 'people', [null, null]],
    ['Infant mortality', 'deaths per 1,000 live births', [0, null]],
    ['Life expectancy at birth', 'years', [0, null]],
    ['Surface area', 'km²', [0, null]],
    ['Trade balance', 'current US$', [null, null]],
    ['Something', null, [null, null]],
  ])('starts at 0 for what is counted or measured: %s', (name, unit, expected) => {
    expect(range(name, unit)).toEqual(expected);
  });
});
