/**
 * The parts of `npm run faults`. Each runs in a child process with a temporary directory and a time limit.
 */
import type { Reporter } from './table.ts';

export interface Part {
  name: string;
  /** What is done to the service. Part of the table, so results of different runs stay comparable. */
  fault: string;
  limit_s: number;
  load(): Promise<(report: Reporter) => Promise<void>>;
}

export const PARTS: readonly Part[] = [
  {
    name: 'redis',
    fault: 'Redis killed repeatedly during 10,000 concurrent calls and restarted on the same files',
    limit_s: 480,
    load: async () => (await import('./redis.ts')).redisFaults,
  },
  {
    name: 'readiness',
    fault: 'the directory of the snapshot moved away while it is served, and Redis filled, again and again',
    limit_s: 120,
    load: async () => (await import('./readiness.ts')).readinessFaults,
  },
  {
    name: 'refused-keys',
    fault: 'calls for whole indicators with keys that no longer work, as fast as they can be sent',
    limit_s: 120,
    load: async () => (await import('./refused-keys.ts')).refusedKeysFaults,
  },
  {
    name: 'replies',
    fault: 'a network between gateway and Redis that delays, drops and closes connections at random',
    limit_s: 120,
    load: async () => (await import('./replies.ts')).repliesFaults,
  },
  {
    name: 'gateway',
    fault: 'the gateway killed, stopped and switched to other snapshots under load',
    limit_s: 300,
    load: async () => (await import('./gateway.ts')).gatewayFaults,
  },
  {
    name: 'damage',
    fault: 'a bit flipped in every published file right after a start',
    limit_s: 300,
    load: async () => (await import('./damage.ts')).damageFaults,
  },
  {
    name: 'cluster',
    fault: 'masters of a Redis Cluster, three with a replica each, killed under load one after another',
    limit_s: 300,
    load: async () => (await import('./cluster.ts')).clusterFaults,
  },
  {
    name: 'load',
    fault:
      '80 % of capacity for three minutes, three times capacity, and clients that send slowly, read nothing or disconnect',
    limit_s: 600,
    load: async () => (await import('./load.ts')).loadFaults,
  },
  {
    name: 'attack',
    fault:
      'timing attacks on keys and passwords, and one attacker with 32 connections beside customers who pay',
    limit_s: 1_200,
    load: async () => (await import('./attack.ts')).attackFaults,
  },
  {
    name: 'sign-in',
    fault:
      'reset links made up by the thousand, and guesses at passwords from more addresses than any throttle knows',
    limit_s: 180,
    load: async () => (await import('./sign-in.ts')).signInFaults,
  },
  {
    name: 'reconcile',
    fault: 'a year of archive reconciled with a hundred thousand accounts, then one archived entry altered',
    limit_s: 600,
    load: async () => (await import('./reconcile.ts')).reconcileFaults,
  },
  {
    name: 'archive',
    fault: 'a year of nightly runs, and nine days of a million calls each',
    limit_s: 600,
    load: async () => (await import('./archive.ts')).archiveFaults,
  },
  {
    name: 'export',
    fault: 'an account with two million ledger entries, half of them archived, asks for its data',
    limit_s: 1_200,
    load: async () => (await import('./export.ts')).exportFaults,
  },
];
