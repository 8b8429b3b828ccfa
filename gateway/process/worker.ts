/**
 * One worker: it waits to be told what it is, answers, and ends when it is told to. Signals are the primary's: a
 * terminal sends them to every process of the group. When the primary is gone the worker ends, by what `node:cluster` does.
 */
import { inspect } from 'node:util';
import { createLog } from '../../data/runtime/log.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { runShutdownHooks, type ShutdownHook, startFailureReason } from './lifecycle.ts';
import { startServerProcess } from './server-process.ts';
import { type Begin, type ToPrimary, type ToWorker, toWorker } from './worker-messages.ts';

/** The one that does what has to be done once. */
const LEADER = 0;

/** Resolves when the message has been handed over. */
const tell = (message: ToPrimary): Promise<void> =>
  new Promise((settle) => {
    process.send?.(message, undefined, {}, () => settle());
  });

export function runWorker(): void {
  const shutdownHooks: ShutdownHook[] = [];
  const settings = readSettings();
  let log = createLog(settings);
  let checkPointer = async (): Promise<void> => {};
  const begin = async (told: Begin): Promise<void> => {
    log = log.child({ worker: told.number });
    const server = await startServerProcess(
      settings,
      { ...told, processCount: told.of, onSwitch: () => void tell({ kind: 'switched' }) },
      log,
      shutdownHooks,
    );
    server.metrics?.report();
    checkPointer = server.checkPointer;
    const startupBanner = told.number === LEADER ? await server.startLeaderTasks() : null;
    await tell({ kind: 'ready', startupBanner });
  };
  const obey = async (told: ToWorker): Promise<void> => {
    if (told.kind === 'check_pointer') return checkPointer();
    if (told.kind === 'begin') return begin(told);
    await runShutdownHooks(shutdownHooks, log);
    process.exit(0);
  };
  process.on('message', (message: unknown) => {
    const told = toWorker.safeParse(message);
    if (!told.success) return;
    obey(told.data).catch(async (error: unknown) => {
      await tell({ kind: 'failed', why: startFailureReason(error) ?? inspect(error) });
      process.exit(1);
    });
  });
}
