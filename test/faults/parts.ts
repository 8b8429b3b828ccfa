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
    fault:
      'Redis killed in the middle of 10,000 concurrent calls, again and again, and started on the same files',
    limit_s: 480,
    load: async () => (await import('./redis.ts')).redisFaults,
  },
  {
    name: 'replies',
    fault: 'a network between gateway and Redis that delays, goes silent and cuts at random',
    limit_s: 120,
    load: async () => (await import('./replies.ts')).repliesFaults,
  },
  {
    name: 'gateway',
    fault: 'the gateway killed, stopped and given other snapshots under load',
    limit_s: 300,
    load: async () => (await import('./gateway.ts')).gatewayFaults,
  },
  {
    name: 'build',
    fault: 'the build killed at fifty moments, its disk filled, its provider doing all that providers do',
    limit_s: 240,
    load: async () => (await import('./build.ts')).buildFaults,
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
      'four fifths of capacity for three minutes, three times capacity, callers who drip, hoard and go away',
    limit_s: 600,
    load: async () => (await import('./load.ts')).loadFaults,
  },
  {
    name: 'attack',
    fault:
      'odd requests and forms by the thousand, requests hidden in others, guesses whose time might tell something',
    limit_s: 240,
    load: async () => (await import('./attack.ts')).attackFaults,
  },
  {
    name: 'reconcile',
    fault:
      'a year of archive and a hundred thousand accounts held against each other, then one archived entry altered',
    limit_s: 600,
    load: async () => (await import('./reconcile.ts')).reconcileFaults,
  },
  {
    name: 'archive',
    fault: 'a year of nights, nine days of a million calls each, and the archive killed at twenty moments',
    limit_s: 600,
    load: async () => (await import('./archive.ts')).archiveFaults,
  },
];
