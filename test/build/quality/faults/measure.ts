/** Which planted faults the quality report finds, and which series without a fault it accuses. */
import type { QualityFinding } from '../../../../data/schema/quality.ts';
import { FAULT_KINDS, type Fault, type FaultKind } from './fault.ts';
import type { GoodData } from './good-data.ts';
import { touchedBy } from './plant-faults.ts';
import type { Planted } from './tools.ts';

/** `compared`: the night before was good. `alone`: there was none. */
export type Night = keyof Fault['told'];

export interface NightMeasurement {
  night: Night;
  /** Every fault, and how it was found; null when it was not. */
  outcomes: { fault: Fault; found: string | null; isDealtWith: boolean }[];
  /** Series without a fault. */
  untouched: number;
  /** New open findings that name no series with a fault. */
  accusations: QualityFinding[];
}

interface Nights {
  night: Night;
  data: GoodData;
  planted: readonly Planted[];
  before: readonly QualityFinding[];
  after: readonly QualityFinding[];
  /** How the build itself dealt with a fault, by position: it was refused, or is not published. */
  dealtWith: ReadonlyMap<Planted, string>;
}

/** A finding counts when it is open, and was not open before the faults. */
export function measureNight({ night, data, planted, before, after, dealtWith }: Nights): NightMeasurement {
  const isOpen = ({ decision }: QualityFinding): boolean => decision === null;
  const known = new Set(before.filter(isOpen).map(({ id }) => id));
  const fresh = after.filter((finding) => isOpen(finding) && !known.has(finding.id));
  const touched = new Set(planted.flatMap(({ changes }) => touchedBy(changes, data)));
  const lost = new Set(planted.map(({ changes }) => changes.lost?.provider));
  const names = ({ indicator, other }: QualityFinding, ids: ReadonlySet<string>): boolean =>
    (indicator !== null && ids.has(indicator)) || (other !== null && ids.has(other));
  const foundBy = ({ changes, fault }: Planted): string | null => {
    const ids = new Set(touchedBy(changes, data));
    const finding = fresh.find((one) =>
      one.indicator === null ? fault.series === null && one.provider === fault.provider : names(one, ids),
    );
    return finding?.kind ?? null;
  };
  return {
    night,
    outcomes: planted.map((one) => ({
      fault: one.fault,
      found: dealtWith.get(one) ?? foundBy(one),
      isDealtWith: dealtWith.has(one),
    })),
    untouched: [...data.series.keys()].filter((id) => !touched.has(id)).length,
    accusations: fresh.filter((one) =>
      one.indicator === null ? !lost.has(one.provider) : !names(one, touched),
    ),
  };
}

/** Share of the faults that can be told which were found. */
export function recallOf({ night, outcomes }: NightMeasurement): number {
  const told = outcomes.filter(({ fault }) => fault.told[night]);
  return told.filter(({ found }) => found !== null).length / told.length;
}

/** Share of the series without a fault that were accused. */
export function accusedShare({ accusations, untouched }: NightMeasurement): number {
  return new Set(accusations.map(({ indicator, provider }) => indicator ?? provider)).size / untouched;
}

/** Faults that can be told and were not found. */
export const missedBy = ({ night, outcomes }: NightMeasurement): Fault[] =>
  outcomes.flatMap(({ fault, found }) => (fault.told[night] && found === null ? [fault] : []));

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Recall by kind, as a table in Markdown. A cell is `found of those that can be told`. */
export function recallTable(measurements: readonly NightMeasurement[]): string {
  const kinds = Object.keys(FAULT_KINDS) as FaultKind[];
  const cell = ({ night, outcomes }: NightMeasurement, kind: FaultKind): string => {
    const told = outcomes.filter(({ fault }) => fault.kind === kind && fault.told[night]);
    const found = told.filter((one) => one.found !== null).length;
    return told.length === 0 ? '–' : `${found} of ${told.length}`;
  };
  const planted = (kind: FaultKind): number =>
    measurements[0]?.outcomes.filter(({ fault }) => fault.kind === kind).length ?? 0;
  const total = measurements[0]?.outcomes.length ?? 0;
  const sums = measurements.map((one) => {
    const told = one.outcomes.filter(({ fault }) => fault.told[one.night]).length;
    return `${told - missedBy(one).length} of ${told}`;
  });
  const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [
    row(['kind', 'what is planted', 'planted', ...measurements.map(({ night }) => HEADINGS[night])]),
    row(['---', '---', '---:', ...measurements.map(() => '---:')]),
    ...kinds.map((kind) =>
      row([
        `\`${kind}\``,
        FAULT_KINDS[kind].what,
        planted(kind),
        ...measurements.map((one) => cell(one, kind)),
      ]),
    ),
    row(['**all**', '', total, ...sums]),
    row(['**recall**', '', '', ...measurements.map((one) => percent(recallOf(one)))]),
    row(['**untouched series accused**', '', '', ...measurements.map((one) => percent(accusedShare(one)))]),
  ].join('\n');
}

const HEADINGS: Record<Night, string> = { compared: 'second night', alone: 'first night' };

/** What was missed and whom it accused, line by line. */
export function describeMeasurement(measurement: NightMeasurement): string {
  const missed = missedBy(measurement).map(
    ({ kind, series, provider, note }) => `missed ${kind} ${series ?? provider}: ${note}`,
  );
  const accused = measurement.accusations.map(
    ({ kind, indicator, other, provider, message }) =>
      `accused ${kind} ${indicator ?? provider}${other ? ` with ${other}` : ''}: ${message}`,
  );
  const head = `${HEADINGS[measurement.night]}: recall ${percent(recallOf(measurement))}, accused ${percent(accusedShare(measurement))}`;
  return [head, ...missed, ...accused].join('\n  ');
}
