/** Pairing of value, forecast and bound columns, by pattern and by definition. */
import { describe, expect, it } from 'vitest';
import { pairColumns } from '../../../build/connectors/table-columns.ts';

const none = { value: null, projected: null, ci_lo: null, ci_hi: null };

describe('pairColumns', () => {
  it.each([
    ['Total', 'Total (Projected)', 'projected'],
    ['Total', 'total (projections)', 'projected'],
    ['urban', 'urban_projected', 'projected'],
    ['index', 'index_lower', 'ci_lo'],
    ['index', 'index_upper', 'ci_hi'],
    ['rate', 'rate_lower_ci', 'ci_lo'],
    ['Death rate', 'Death rate - Lower bound', 'ci_lo'],
    ['Death rate', 'Death rate (upper estimate)', 'ci_hi'],
    ['Death rate', 'Lower bound of death rate', 'ci_lo'],
    ['Death rate', 'Upper bound: Death rate', 'ci_hi'],
    ['Death  rate', 'Death rate (upper)', 'ci_hi'],
  ])('pairs %j with %j as %s', (base, partner, role) => {
    const expected = [{ ...none, column: base, value: base, [role]: partner }];
    expect(pairColumns([base, partner])).toEqual(expected);
    expect(pairColumns([partner, base])).toEqual(expected);
  });

  it.each(['Lower secondary completion', 'upper', 'x_lower', 'Lower bound of nothing'])(
    'keeps %j as a series of its own without a partner',
    (column) => {
      expect(pairColumns([column, 'other'])).toEqual([
        { ...none, column, value: column },
        { ...none, column: 'other', value: 'other' },
      ]);
    },
  );

  it('reads a forecast column without an observed one as a series', () => {
    expect(pairColumns(['Deaths (Projected)'])).toEqual([
      { ...none, column: 'Deaths (Projected)', projected: 'Deaths (Projected)' },
    ]);
  });

  it('prefers the definition over the patterns', () => {
    const explicit = new Map([['t', { ci_lo: 't_upper', ci_hi: 't_lower' }]]);
    expect(pairColumns(['t', 't_upper', 't_lower'], explicit)).toEqual([
      { ...none, column: 't', value: 't', ci_lo: 't_upper', ci_hi: 't_lower' },
    ]);
  });
});
