/** Preloaded into the processes that `ChildEventLoops` watches. */
import { appendFileSync } from 'node:fs';
import { noteTurns } from './event-loop-watchdog.ts';

noteTurns(import.meta.url, appendFileSync);
