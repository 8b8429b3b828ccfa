/** Growth per doubling, goals and the table of the scale bench. */
import { median } from '../report.ts';
import type { Size } from './measure.ts';

/** Limit for the cost of twice the data. */
const GROWTH_AT_MOST = 2.1;
const MEMORY_AT_MOST_MB = 4096;
const READY_AT_MOST_S = 5;

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

/** All rows of the table. @param sizes in ascending order */
export function judge(sizes: readonly Size[]): Judged[] {
  return [
    { name: 'indicators', cells: sizes.map(({ indicators }) => whole(indicators)) },
    { name: 'observations', cells: sizes.map(({ observations }) => whole(observations)) },
    { name: 'build: seconds', cells: sizes.map(({ build }) => build.seconds.toFixed(1)) },
    growthRow('… for each doubling', sizes, ({ build }) => build.seconds),
    {
      name: 'build: peak memory',
      cells: sizes.map(({ build }) => `${whole(build.peak_mb)} MB`),
      goal: `≤ ${MEMORY_AT_MOST_MB} MB`,
      isMet: sizes.every(({ build }) => build.peak_mb <= MEMORY_AT_MOST_MB),
    },
    growthRow('… for each doubling', sizes, ({ build }) => build.peak_mb),
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
      name: 'gateway: memory when ready',
      cells: sizes.map(({ gateway }) => `${whole(gateway.ready_mb)} MB`),
    },
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
