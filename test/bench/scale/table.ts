/** Growth per doubling, goals and the table of the scale bench. */
import { median } from '../report.ts';
import type { Rate, Size } from './measure.ts';
import type { StepCost } from './watched-build.ts';

/** Limit for the cost of twice the data. */
const GROWTH_AT_MOST = 2.1;
const MEMORY_AT_MOST_MB = 4096;
const READY_AT_MOST_S = 5;
/** Relative to the share of the floor at the smallest size. */
const SPEED_AT_LEAST = 0.9;

export interface ScaleReport {
  at: string;
  machine: Record<string, string | number>;
  sizes: Size[];
}

export interface Judged {
  name: string;
  /** One text per size. */
  cells: string[];
  goal?: string;
  isMet?: boolean;
}

/** Growth factor of a cost per doubling of the data. */
export function perDoubling(before: number, after: number, times: number): number {
  return (after / before) ** (1 / Math.log2(times));
}

/** Growth from each size to the next. */
function growths(sizes: readonly Size[], cost: (size: Size) => number): number[] {
  return sizes.slice(1).map((size, index) => {
    const before = sizes[index] ?? size;
    return perDoubling(cost(before), cost(size), size.copies / before.copies);
  });
}

const whole = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 0 });

function growthRow(name: string, sizes: readonly Size[], cost: (size: Size) => number): Judged {
  const found = growths(sizes, cost);
  return {
    name,
    cells: ['', ...found.map((growth) => `${growth.toFixed(2)} ×`)],
    goal: `≤ ${GROWTH_AT_MOST} ×`,
    isMet: found.every((growth) => growth <= GROWTH_AT_MOST),
  };
}

function stepRow(step: string, sizes: readonly Size[]): Judged {
  const cell = (cost: StepCost | undefined): string =>
    cost ? `${cost.cpu_s.toFixed(1)} s, ${whole(cost.peak_mb)} MB` : '';
  return { name: `… ${step}: CPU, memory`, cells: sizes.map(({ steps }) => cell(steps[step])) };
}

/** A route keeps its speed when it reaches the same share of its floor at every size. */
function rateRow(name: string, sizes: readonly Size[]): Judged {
  const rates = sizes.map(({ rates: all }) => all.find((rate) => rate.name === name));
  const known = rates.filter((rate): rate is Rate => rate !== undefined);
  const [least] = known;
  return {
    name: `${name}: answers/s, of its floor`,
    cells: rates.map((rate) => (rate ? `${whole(rate.per_second)}, ${rate.of_floor.toFixed(2)}` : '')),
    goal: `≥ ${SPEED_AT_LEAST} of the first share`,
    isMet: known.every(({ of_floor }) => of_floor >= SPEED_AT_LEAST * (least?.of_floor ?? 0)),
  };
}

/** All rows of the table. @param sizes in ascending order */
export function judge(sizes: readonly Size[]): Judged[] {
  const steps = [...new Set(sizes.flatMap((size) => Object.keys(size.steps)))];
  const rates = [...new Set(sizes.flatMap((size) => size.rates.map(({ name }) => name)))];
  return [
    { name: 'indicators', cells: sizes.map(({ indicators }) => whole(indicators)) },
    { name: 'observations', cells: sizes.map(({ observations }) => whole(observations)) },
    { name: 'build: seconds', cells: sizes.map(({ build }) => build.wall_s.toFixed(1)) },
    growthRow('… for each doubling', sizes, ({ build }) => build.wall_s),
    { name: 'build: CPU seconds', cells: sizes.map(({ build }) => build.cpu_s.toFixed(1)) },
    growthRow('… for each doubling', sizes, ({ build }) => build.cpu_s),
    {
      name: 'build: peak memory',
      cells: sizes.map(({ build }) => `${whole(build.peak_mb)} MB`),
      goal: `≤ ${MEMORY_AT_MOST_MB} MB`,
      isMet: sizes.every(({ build }) => build.peak_mb <= MEMORY_AT_MOST_MB),
    },
    growthRow('… for each doubling', sizes, ({ build }) => build.peak_mb),
    ...steps.map((step) => stepRow(step, sizes)),
    {
      name: 'snapshot: files, size',
      cells: sizes.map(({ snapshot }) => `${whole(snapshot.files)}, ${whole(snapshot.megabytes)} MB`),
    },
    {
      name: 'gateway: start to ready',
      cells: sizes.map(({ gateway }) => `${median(gateway.ready_s).toFixed(1)} s`),
      goal: `≤ ${READY_AT_MOST_S} s`,
      isMet: sizes.every(({ gateway }) => median(gateway.ready_s) <= READY_AT_MOST_S),
    },
    {
      name: 'gateway: memory when ready, after load',
      cells: sizes.map(({ gateway: { ready_mb, loaded_mb } }) =>
        loaded_mb === null ? `${whole(ready_mb)} MB` : `${whole(ready_mb)}, ${whole(loaded_mb)} MB`,
      ),
    },
    ...rates.map((name) => rateRow(name, sizes)),
  ];
}

export function markdown({ machine, sizes }: ScaleReport): string {
  const line = (words: readonly string[]): string => `| ${words.join(' | ')} |`;
  const head = ['what', ...sizes.map(({ copies }) => `${copies} ×`), 'goal', ''];
  const verdict = (isMet: boolean | undefined): string =>
    isMet === undefined ? '' : isMet ? 'met' : '**not met**';
  return [
    Object.entries(machine)
      .map(([name, value]) => `${name}: ${value}`)
      .join(' · '),
    '',
    line(head),
    line(head.map(() => '---')),
    ...judge(sizes).map(({ name, cells, goal = '', isMet }) => line([name, ...cells, goal, verdict(isMet)])),
  ].join('\n');
}
