/**
 * One worker process: it starts and stops when the primary tells it to. Only the primary handles signals, because a
 * terminal sends them to the whole process group. `node:cluster` ends the worker when the primary is gone.
 */
import { inspect } from 'node:util';
import { createLog, flushLog } from '../../data/runtime/log.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { runShutdownHooks, type ShutdownHook } from '../../data/runtime/stop-signals.ts';
import { startFailureReason } from './lifecycle.ts';
import type { StartMessage, ToPrimary, ToWorker } from './primary.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** The worker that runs the leader tasks. */
const LEADER = 0;

/** Resolves when the message has been handed over. */
const send = (message: ToPrimary): Promise<void> =>
  new Promise((resolve) => {
    process.send?.(message, undefined, {}, () => resolve());
  });

export function runWorker(): void {
  const shutdownHooks: ShutdownHook[] = [];
  const settings = readSettings();
  let log = createLog(settings);
  let server: ServerProcess | null = null;
  let starting: Promise<void> = Promise.resolve();
  const start = async ({ worker, workerCount, ...listenOptions }: StartMessage): Promise<void> => {
    log = log.child({ worker });
    const options = {
      ...listenOptions,
      processCount: workerCount,
      onSwitch: () => void send({ kind: 'switched' }),
      onDamage: (file: string) => void send({ kind: 'damaged', file }),
    };
    const started = await startServerProcess(settings, options, log, shutdownHooks);
    server = started;
    started.metrics?.report();
    const startupBanner = worker === LEADER ? await started.startLeaderTasks() : null;
    await flushLog();
    await send({ kind: 'ready', startupBanner });
  };
  const handle = async (message: ToWorker): Promise<void> => {
    if (message.kind === 'check_pointer') return server?.checkPointer();
    if (message.kind === 'verify_file') return server?.verifyFile(message.file);
    if (message.kind === 'start') {
      starting = start(message);
      return starting;
    }
    if (message.kind !== 'stop') return;
    await starting;
    await runShutdownHooks(shutdownHooks, log);
    process.exit(0);
  };
  process.on('message', (message: ToWorker) => {
    handle(message).catch(async (error: unknown) => {
      await send({ kind: 'failed', reason: startFailureReason(error) ?? inspect(error) });
      process.exit(1);
    });
  });
}
