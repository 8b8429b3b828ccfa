/** Looks at the list "Needs attention" every minute, in one process of all, and alerts operators to what changed. */
import type { JobProducer, OperatorAlerts } from '../../gateway/commerce/notifications/notifications.ts';
import { readAttentionContext } from '../attention/item.ts';
import { observeConditions } from '../attention/needs-attention.ts';
import type { AdminArea } from '../context.ts';
import { ConditionStore } from './condition-store.ts';

/** After this many looks without a sign of the process that watches, another one takes over. */
const LOOKS_MISSED = 2.5;
/** An older reconciliation is repeated. */
const MAX_RECONCILIATION_AGE_MS = 3_600_000;
const RECONCILE_WAIT_MS = 30_000;

export class ConditionWatch {
  readonly #area: AdminArea;
  readonly #alerts: OperatorAlerts;
  readonly #jobs: JobProducer;
  readonly #conditions: ConditionStore;
  readonly #every_ms: number;
  readonly #process: string;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  /** Number of this process' last look. */
  #last = 0;

  constructor(area: AdminArea, every_ms: number) {
    this.#area = area;
    this.#alerts = area.operatorAlerts;
    this.#jobs = area.mailJobs;
    this.#conditions = new ConditionStore(area.redis);
    this.#every_ms = every_ms;
    this.#process = area.operatorAlerts.newId();
  }

  start(): void {
    this.#timer = setInterval(() => this.#lookOnce(), this.#every_ms).unref();
  }

  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#looking;
  }

  #lookOnce(): void {
    this.#looking ??= this.#look()
      .catch((error: unknown) =>
        this.#area.log.warn({ err: error }, 'cannot look for what operators are told'),
      )
      .finally(() => {
        this.#looking = null;
      });
  }

  async #look(): Promise<void> {
    const look = await this.#conditions.takeWatch(this.#process, this.#every_ms * LOOKS_MISSED);
    if (look === null) return;
    // Another process may have noted a later reconciliation than the one that this process keeps.
    const max_age_ms = look === this.#last + 1 ? MAX_RECONCILIATION_AGE_MS : 0;
    this.#last = look;
    const context = await readAttentionContext(this.#area, max_age_ms, RECONCILE_WAIT_MS);
    const observation = await observeConditions(context);
    const at = new Date(this.#area.now()).toISOString();
    await this.#conditions.note(look, observation, { id: this.#alerts.newId(), at });
    await this.#alerts.handOver(this.#jobs);
  }
}
