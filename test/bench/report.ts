/** Rows of the bench, their statistics, and the table they make. */
import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem, type } from 'node:os';

/** One figure over several rounds. */
export interface Sample {
  unit: 'req/s' | 'rows/s' | 'ms' | 's' | 'MB';
  rounds: number[];
}

export interface Row {
  name: string;
  measured: Sample;
  /** The same work at its cheapest, measured in the same run. */
  floor?: { name: string; sample: Sample };
  /** A bound on the median of measured / floor by round, or, without a floor, on the median itself. */
  goal?: { at: 'least' | 'most'; bound: number };
  note?: string;
}

export interface Skipped {
  name: string;
  skipped: string;
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

/** Rounds of measured and floor were taken in turn, so each pair saw the same machine. */
export function ratio(row: Row): number | null {
  if (!row.floor) return null;
  const floors = row.floor.sample.rounds;
  return median(row.measured.rounds.map((value, round) => value / (floors[round] ?? Number.NaN)));
}

export function isMet(row: Row): boolean | null {
  if (!row.goal) return null;
  const judged = ratio(row) ?? median(row.measured.rounds);
  return row.goal.at === 'least' ? judged >= row.goal.bound : judged <= row.goal.bound;
}

const DIGITS = { 'req/s': 0, 'rows/s': 0, ms: 2, s: 1, MB: 0 };

function shown({ unit, rounds }: Sample): string {
  const number = (value: number): string =>
    value.toLocaleString('en', { minimumFractionDigits: DIGITS[unit], maximumFractionDigits: DIGITS[unit] });
  const spread = rounds.length > 1 ? ` (${number(Math.min(...rounds))}–${number(Math.max(...rounds))})` : '';
  return `${number(median(rounds))} ${unit}${spread}`;
}

function goalText(row: Row): string {
  if (!row.goal) return '';
  const { at, bound } = row.goal;
  return `${at === 'least' ? '≥' : '≤'} ${bound} ${row.floor ? '×' : row.measured.unit}`;
}

function cells(row: Row | Skipped, earlier: Map<string, Row>): string[] {
  if ('skipped' in row) return [row.name, `skipped: ${row.skipped}`, '', '', '', '', ''];
  const share = ratio(row);
  const met = isMet(row);
  const before = earlier.get(row.name);
  const change = before ? median(row.measured.rounds) / median(before.measured.rounds) - 1 : null;
  return [
    row.note ? `${row.name} (${row.note})` : row.name,
    shown(row.measured),
    row.floor ? `${row.floor.name}: ${shown(row.floor.sample)}` : '',
    share === null ? '' : share.toFixed(2),
    goalText(row),
    met === null ? '' : met ? 'met' : '**not met**',
    change === null ? '' : `${change < 0 ? '−' : '+'}${Math.abs(change * 100).toFixed(0)} %`,
  ];
}

/** The Markdown table; with an earlier report, a last column holds the change of each median against it. */
export function markdown(report: Report, earlier: Report | null): string {
  const before = new Map(
    (earlier?.rows ?? []).flatMap((row): [string, Row][] => ('skipped' in row ? [] : [[row.name, row]])),
  );
  const head = ['what', 'measured', 'floor', 'ratio', 'goal', '', 'change'];
  const width = earlier ? head.length : head.length - 1;
  const line = (words: string[]): string => `| ${words.slice(0, width).join(' | ')} |`;
  return [
    Object.entries(report.machine)
      .map(([name, value]) => `${name}: ${value}`)
      .join(' · '),
    '',
    line(head),
    line(head.map(() => '---')),
    ...report.rows.map((row) => line(cells(row, before))),
    '',
    'Median of the rounds (least–greatest); a ratio is the median of the ratios by round.',
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
