/**
 * One worker process: it starts and stops when the primary tells it to. Only the primary handles signals, because a
 * terminal sends them to the whole process group. `node:cluster` ends the worker when the primary is gone.
 */
import { inspect } from 'node:util';
import { createLog, flushLog } from '../../data/runtime/log.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import { runShutdownHooks, type ShutdownHook, startFailureReason } from './lifecycle.ts';
import { startServerProcess } from './server-process.ts';
import { type StartMessage, type ToPrimary, type ToWorker, toWorker } from './worker-messages.ts';

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
  let checkPointer = async (): Promise<void> => {};
  const start = async ({ worker, workerCount, ...listenOptions }: StartMessage): Promise<void> => {
    log = log.child({ worker });
    const server = await startServerProcess(
      settings,
      { ...listenOptions, processCount: workerCount, onSwitch: () => void send({ kind: 'switched' }) },
      log,
      shutdownHooks,
    );
    server.metrics?.report();
    checkPointer = server.checkPointer;
    const startupBanner = worker === LEADER ? await server.startLeaderTasks() : null;
    await flushLog();
    await send({ kind: 'ready', startupBanner });
  };
  const handle = async (message: ToWorker): Promise<void> => {
    if (message.kind === 'check_pointer') return checkPointer();
    if (message.kind === 'start') return start(message);
    await runShutdownHooks(shutdownHooks, log);
    process.exit(0);
  };
  process.on('message', (raw: unknown) => {
    const message = toWorker.safeParse(raw);
    if (!message.success) return;
    handle(message.data).catch(async (error: unknown) => {
      await send({ kind: 'failed', reason: startFailureReason(error) ?? inspect(error) });
      process.exit(1);
    });
  });
}
