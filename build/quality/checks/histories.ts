/** Odd values in the history of single countries, as `anomalies.sql` finds them: slips, jumps, flips and frozen values. */
import type { Anomaly, FoundDoubt } from '../../../data/schema/quality.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { counted, countryName, figure } from '../wording.ts';

type Kind = Anomaly['kind'];

const KINDS: readonly Kind[] = [
  'decimal_slip',
  'unit_change',
  'sign_flip',
  'isolated_value',
  'level_break',
  'frozen_values',
];

/** `a factor of 1,000`, for the distance of `decimal_slip` and `level_break`. */
const factor = (size: number): string =>
  `a factor of ${Number((10 ** Math.abs(size)).toPrecision(2)).toLocaleString('en')}`;

function describe({ kind, year, until, value, previous, next, size }: Anomaly, country: string): string {
  const around = [previous, next].filter((one) => one !== null).map(figure);
  const now = figure(value ?? 0);
  switch (kind) {
    case 'unit_change':
      return `Most countries change by ${factor(size)} from the year before to ${year}`;
    case 'frozen_values':
      return `${country} is ${now} in every year from ${year} to ${until}`;
    case 'level_break':
      return `${country} goes from ${around[0]} to ${now} in ${year}, by ${factor(size)}, and does not return`;
    default:
      return `${country} is ${now} in ${year}, between ${around.join(' and ')}`;
  }
}

function doubtOf(
  { curated }: CheckContext,
  { planned, record }: CheckedSeries,
  kind: Kind,
  anomalies: readonly Anomaly[],
): FoundDoubt[] {
  const [worst] = anomalies;
  if (!worst) return [];
  const countries = [...new Set(anomalies.flatMap(({ iso3 }) => iso3 ?? []))].sort();
  const others =
    countries.length > 1 ? `; ${counted(countries.length - 1, 'more country', 'more countries')}` : '';
  return [
    {
      kind,
      provider: planned.providerId,
      indicator: record.id,
      other: null,
      countries,
      years: [
        Math.min(...anomalies.map(({ year }) => year)),
        Math.max(...anomalies.map(({ year, until }) => until ?? year)),
      ],
      extent:
        kind === 'frozen_values' ? anomalies.reduce((sum, { size }) => sum + size, 0) : anomalies.length,
      message: `${describe(worst, worst.iso3 === null ? '' : countryName(curated, worst.iso3))}${others}.`,
    },
  ];
}

export const histories: QualityCheck = {
  kinds: KINDS,
  find: async (context) =>
    [...context.series.values()].flatMap((series) =>
      KINDS.flatMap((kind) =>
        doubtOf(
          context,
          series,
          kind,
          series.statistics.anomalies.filter((one) => one.kind === kind),
        ),
      ),
    ),
};
