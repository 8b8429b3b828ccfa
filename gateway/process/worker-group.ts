/**
 * The worker processes of a primary: started together, replaced when they end by themselves, ended together.
 *
 * A worker that cannot start while the service starts ends the service. Later it is started again, ever more slowly
 * while that keeps happening, and the others go on.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Logger } from 'pino';
import { RestartBackoff } from './child-process.ts';
import { WorkerFailure } from './lifecycle.ts';
import { type Begin, type ToWorker, toPrimary } from './worker-messages.ts';

const PAUSES = { first_ms: 100, longest_ms: 30_000, steady_ms: 60_000 };
/** A little longer than a worker gives itself. */
const STOP_WITHIN_MS = 22_000;

/** What every worker is told, whichever it is. */
export type Orders = Omit<Begin, 'kind' | 'number' | 'of'>;

/** The place of one worker, and of those that replace it. */
interface Slot {
  number: number;
  worker: Worker;
  since_ms: number;
  answers: boolean;
  pause: RestartBackoff;
  again?: NodeJS.Timeout;
}

export class WorkerGroup {
  readonly #log: Logger;
  readonly #slots: Slot[];
  #orders: Orders | null = null;
  #isStopping = false;
  /** While the service starts: what each worker's first word decides. */
  #starting = Promise.withResolvers<string>();
  #greeting = '';
  #hasStarted = false;

  /** Starts the processes, which wait to be told what they are. @param program the script that each runs. */
  constructor(program: string, workers: number, log: Logger) {
    this.#log = log;
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ exec: program, args: [] });
    // Whoever begins looks at it; until then a failure has no one to tell.
    this.#starting.promise.catch(() => {});
    this.#slots = Array.from({ length: workers }, (_, number) =>
      this.#fill(number, new RestartBackoff(PAUSES)),
    );
  }

  /** Resolves to what a person is to see when all of them answer. @throws {WorkerFailure} */
  begin(orders: Orders): Promise<string> {
    this.#orders = orders;
    for (const slot of this.#slots) this.#tellToBegin(slot);
    return this.#starting.promise;
  }

  /** How many answer. */
  get answering(): number {
    return this.#slots.filter(({ answers }) => answers).length;
  }

  /** Lets all finish what is in flight. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const ends = this.#slots.map(async ({ worker, again }) => {
      clearTimeout(again);
      if (worker.isDead()) return;
      const exited = once(worker, 'exit');
      tell(worker, { kind: 'stop' });
      const kill = setTimeout(() => worker.process.kill('SIGKILL'), STOP_WITHIN_MS);
      await exited;
      clearTimeout(kill);
    });
    await Promise.all(ends);
  }

  #fill(number: number, pause: RestartBackoff): Slot {
    const worker = cluster.fork();
    const slot: Slot = { number, worker, since_ms: performance.now(), answers: false, pause };
    worker.on('message', (message: unknown) => this.#hear(slot, message));
    worker.on('error', (error) => this.#log.error({ err: error, worker: number }, 'worker'));
    worker.once('exit', (code: number, signal: string) => this.#ended(slot, signal ?? code));
    return slot;
  }

  #tellToBegin({ worker, number }: Slot): void {
    if (this.#orders) tell(worker, { kind: 'begin', number, of: this.#slots.length, ...this.#orders });
  }

  #hear(slot: Slot, message: unknown): void {
    const { data: said } = toPrimary.safeParse(message);
    if (said?.kind === 'switched') {
      for (const { worker } of this.#slots)
        if (worker !== slot.worker) tell(worker, { kind: 'check_pointer' });
    } else if (said?.kind === 'failed') {
      if (this.#hasStarted)
        this.#log.error({ worker: slot.number, reason: said.why }, 'worker did not start');
      else this.#starting.reject(new WorkerFailure(said.why));
    } else if (said?.kind === 'ready') {
      slot.answers = true;
      this.#greeting = said.startupBanner ?? this.#greeting;
      if (this.answering < this.#slots.length) return;
      this.#hasStarted = true;
      this.#starting.resolve(this.#greeting);
    }
  }

  #ended(slot: Slot, how: string | number): void {
    const { number, pause, since_ms } = slot;
    slot.answers = false;
    if (this.#isStopping) return;
    if (!this.#hasStarted) {
      this.#starting.reject(new WorkerFailure(`a worker ended while it was starting (${how})`));
      return;
    }
    const again_in_ms = pause.after(performance.now() - since_ms);
    this.#log.error({ worker: number, how, again_in_ms }, 'a worker ended by itself');
    slot.again = setTimeout(() => {
      const next = this.#fill(number, pause);
      this.#slots[number] = next;
      this.#tellToBegin(next);
    }, again_in_ms);
  }
}

/** A worker that is just ending hears nothing any more. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
