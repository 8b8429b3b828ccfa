/** Rows of the bench, their statistics, and the tables they make. */
import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem, type } from 'node:os';

/** One figure over several rounds. */
export interface Sample {
  unit: 'req/s' | 'rows/s' | 'ms' | 's' | 'kB' | 'MB' | 'files';
  rounds: number[];
}

/** CPU time of the serving process per response, in microseconds. */
export type CpuTime = number | null;

export interface Row {
  name: string;
  measured: Sample & { cpu_us?: CpuTime };
  /** The same work by the cheapest program, measured in the same run. */
  floor?: { name: string; sample: Sample & { cpu_us?: CpuTime } };
  /** A limit for the median of measured / floor by round or, without a floor, for the median itself. */
  goal?: { at: 'least' | 'most'; bound: number };
  note?: string;
}

export interface Skipped {
  name: string;
  skipped: string;
  /** The measurement failed, rather than being left out. */
  failed?: boolean;
}

export interface Report {
  at: string;
  machine: Record<string, string | number>;
  rows: (Row | Skipped)[];
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** Rounds alternate between measured and floor, so noise affects both of a pair. */
export function ratio(row: Row): number | null {
  if (!row.floor) return null;
  const floors = row.floor.sample.rounds;
  return median(row.measured.rounds.map((value, round) => value / (floors[round] ?? Number.NaN)));
}

/** Median absolute deviation of the ratios, relative to their median. */
function unrest(row: Row): number | null {
  const middle = ratio(row);
  if (middle === null || !row.floor || row.measured.rounds.length < 3) return null;
  const floors = row.floor.sample.rounds;
  const distances = row.measured.rounds.map((value, round) =>
    Math.abs(value / (floors[round] ?? Number.NaN) - middle),
  );
  return median(distances) / middle;
}

export function isMet(row: Row): boolean | null {
  if (!row.goal) return null;
  const judged = ratio(row) ?? median(row.measured.rounds);
  return row.goal.at === 'least' ? judged >= row.goal.bound : judged <= row.goal.bound;
}

const DIGITS = { 'req/s': 0, 'rows/s': 0, ms: 2, s: 1, kB: 0, MB: 0, files: 0 };

function shown({ unit, rounds }: Sample): string {
  const number = (value: number): string =>
    value.toLocaleString('en', { minimumFractionDigits: DIGITS[unit], maximumFractionDigits: DIGITS[unit] });
  const spread = rounds.length > 1 ? ` (${number(Math.min(...rounds))}–${number(Math.max(...rounds))})` : '';
  return `${number(median(rounds))} ${unit}${spread}`;
}

function ratioText(row: Row): string {
  const share = ratio(row);
  if (share === null) return '';
  const distance = unrest(row);
  return distance === null ? share.toFixed(2) : `${share.toFixed(2)} ± ${(share * distance).toFixed(2)}`;
}

/** `12.1 / 13.0`: CPU time of a call here and at the floor. */
function cpuText({ measured, floor }: Row): string {
  const text = (time: CpuTime | undefined): string => {
    if (time === null || time === undefined) return '';
    return time < 1000 ? time.toFixed(1) : Math.round(time).toLocaleString('en');
  };
  const [own, least] = [text(measured.cpu_us), text(floor?.sample.cpu_us)];
  return least === '' ? own : `${own} / ${least}`;
}

function goalText(row: Row): string {
  if (!row.goal) return '';
  const { at, bound } = row.goal;
  return `${at === 'least' ? '≥' : '≤'} ${bound} ${row.floor ? '×' : row.measured.unit}`;
}

const signed = (share: number): string => `${share < 0 ? '−' : '+'}${Math.abs(share * 100).toFixed(0)} %`;

/** Change of the value and, with a floor, of the ratio, which does not depend on the speed of the machine. */
function changeText(row: Row, before: Row | undefined): string {
  if (!before) return '';
  const change = signed(median(row.measured.rounds) / median(before.measured.rounds) - 1);
  const [now, then] = [ratio(row), ratio(before)];
  return now === null || then === null ? change : `${change} (ratio ${signed(now / then - 1)})`;
}

const HEAD = ['what', 'measured', 'floor', 'ratio', 'CPU µs', 'goal', '', 'change'];

function cells(row: Row | Skipped, earlier: Map<string, Row>): string[] {
  if ('skipped' in row) return [row.name, `skipped: ${row.skipped}`, ...HEAD.slice(2).map(() => '')];
  const met = isMet(row);
  return [
    row.note ? `${row.name} (${row.note})` : row.name,
    shown(row.measured),
    row.floor ? `${row.floor.name}: ${shown(row.floor.sample)}` : '',
    ratioText(row),
    cpuText(row),
    goalText(row),
    met === null ? '' : met ? 'met' : '**not met**',
    changeText(row, earlier.get(row.name)),
  ];
}

/** The Markdown table. With an earlier report a last column shows changes. */
export function markdown(report: Report, earlier: Report | null): string {
  const before = new Map(
    (earlier?.rows ?? []).flatMap((row): [string, Row][] => ('skipped' in row ? [] : [[row.name, row]])),
  );
  const width = earlier ? HEAD.length : HEAD.length - 1;
  const line = (words: string[]): string => `| ${words.slice(0, width).join(' | ')} |`;
  return [
    Object.entries(report.machine)
      .map(([name, value]) => `${name}: ${value}`)
      .join(' · '),
    '',
    line(HEAD),
    line(HEAD.map(() => '---')),
    ...report.rows.map((row) => line(cells(row, before))),
    '',
    'Median of the rounds (least–greatest); a ratio is the median of the ratios by round ± the median distance from it.',
    'CPU µs: what one call costs the answering process, and the floor’s.',
  ].join('\n');
}

function firstLine(program: string, ...args: string[]): string {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
      .trim()
      .split('\n')[0] as string;
  } catch {
    return 'absent';
  }
}

export function machineFacts(): Record<string, string | number> {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    'memory GB': Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release().split('-')[0]}`,
    node: process.version,
    redis: /v=(\S+)/.exec(firstLine('redis-server', '--version'))?.[1] ?? 'absent',
    commit: firstLine('git', 'rev-parse', '--short', 'HEAD'),
  };
}
