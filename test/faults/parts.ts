/** The parts of `npm run faults`. Each runs in a child process with a temporary directory and a time limit. */
import type { Reporter } from './table.ts';

export interface Part {
  /** Of the module in this folder whose default export runs it, too. */
  name: string;
  limit_s: number;
  /** What is done to the service. Part of the table, so results of different runs stay comparable. */
  fault: string;
}

const ROWS: readonly [name: string, limit_s: number, fault: string][] = [
  ['redis', 480, 'Redis killed repeatedly during 10,000 concurrent calls and restarted on the same files'],
  [
    'readiness',
    120,
    'the directory of the snapshot moved away while it is served, and Redis filled, again and again',
  ],
  [
    'refused-keys',
    120,
    'calls for whole indicators with keys that no longer work, as fast as they can be sent',
  ],
  ['replies', 120, 'a network between gateway and Redis that delays, drops and closes connections at random'],
  ['gateway', 300, 'the gateway killed, stopped and switched to other snapshots under load'],
  ['damage', 300, 'a bit flipped in every published file right after a start'],
  [
    'cluster',
    300,
    'masters of a Redis Cluster, three with a replica each, killed under load one after another',
  ],
  [
    'load',
    600,
    '80 % of capacity for three minutes, three times capacity, and clients that send slowly, read nothing or disconnect',
  ],
  [
    'attack',
    1_200,
    'timing attacks on keys and passwords, and one attacker with 32 connections beside customers who pay',
  ],
  [
    'sign-in',
    180,
    'reset links made up by the thousand, and guesses at passwords from more addresses than any throttle knows',
  ],
  [
    'reconcile',
    600,
    'a year of archive reconciled with a hundred thousand accounts, then one archived entry altered',
  ],
  ['archive', 600, 'a year of nightly runs, and nine days of a million calls each'],
  ['export', 1_200, 'an account with two million ledger entries, half of them archived, asks for its data'],
];

export const PARTS: readonly Part[] = ROWS.map(([name, limit_s, fault]) => ({ name, limit_s, fault }));

export const load = async (name: string): Promise<(report: Reporter) => Promise<void>> =>
  (await import(`./${name}.ts`)).default;
