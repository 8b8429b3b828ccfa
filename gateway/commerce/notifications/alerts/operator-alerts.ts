/**
 * Alerts to operators by mail and webhook: what began and what ended. The script that finds it writes an event; each channel
 * gets a job of its own, which is tried again until the receiver accepted the alert.
 *
 * Between a delivery and the end of its job a process may end; then the alert is delivered again under the same id.
 */
import type { Settings } from '../../../../data/runtime/settings.ts';
import type { StoreDependencies } from '../../store/store.ts';
import { type JobProducer, queueTold } from '../jobs/queue.ts';
import type { Mailer } from '../mail/mailer.ts';
import { Outbox, type StoredEvent } from '../outbox.ts';
import { WebhookSender } from '../webhooks/sender.ts';
import { signedHeaders } from '../webhooks/signature.ts';
import { operatorAlert } from './operator-alert.ts';

export interface OperatorAlertDependencies extends StoreDependencies {
  settings: Settings;
  mailer: Pick<Mailer, 'delivers'>;
}

const ID_BYTES = 12;

export class OperatorAlerts {
  readonly #deps: OperatorAlertDependencies;
  readonly #outbox: Outbox;
  /** Where they are mailed; null where they are not. */
  readonly email: string | null;
  readonly #webhook: { url: string; secret: string } | null;
  /** The operators' own receiver may be on their network. */
  readonly #sender = new WebhookSender({ allowsPrivate: true, allowsAnyPort: true });

  constructor(dependencies: OperatorAlertDependencies) {
    const { settings } = dependencies;
    const { OPERATOR_WEBHOOK_URL: url, OPERATOR_WEBHOOK_SECRET: secret } = settings;
    this.#deps = dependencies;
    this.#outbox = new Outbox(dependencies);
    this.email = settings.OPERATOR_ALERT_EMAIL ?? null;
    this.#webhook = url === undefined || secret === undefined ? null : { url, secret };
  }

  /** Recipients of jobs. Empty where alerts are off. */
  get channels(): ('mail' | 'webhook')[] {
    return [
      ...(this.email === null ? [] : ['mail' as const]),
      ...(this.#webhook ? ['webhook' as const] : []),
    ];
  }

  /** Where alerts go, without what a URL may keep secret; empty where they are off. */
  get targets(): string[] {
    const { email } = this;
    const address = this.#deps.mailer.delivers ? email : `${email} (as files: SMTP_URL is not set)`;
    return [
      ...(email === null ? [] : [String(address)]),
      ...(this.#webhook === null ? [] : [`the webhook at ${new URL(this.#webhook.url).host}`]),
    ];
  }

  newId(): string {
    return this.#deps.random(ID_BYTES).toString('base64url');
  }

  /** Sends an alert that says it is a test. Rejects without Redis. */
  async sendTest(jobs: JobProducer): Promise<void> {
    const id = this.newId();
    const at = new Date(this.#deps.now()).toISOString();
    await this.#outbox.emit('operators', 'operator.alert', id, {
      id,
      at,
      isTest: true,
      begun: [],
      ended: [],
    });
    await this.handOver(jobs);
  }

  /** Queues what waits, for each channel once, as the sweep of a gateway does. */
  handOver(jobs: JobProducer): Promise<void> {
    return this.#outbox.drain('operators', async (event) => {
      await queueTold(jobs, { account_id: null, event }, this.channels);
      return 'taken';
    });
  }

  /** Sends an alert to the webhook. Rejects if the receiver did not accept it. */
  async post({ data }: StoredEvent): Promise<void> {
    if (this.#webhook === null) return;
    const { id, at, isTest, begun, ended } = operatorAlert.parse(data);
    const { url, secret } = this.#webhook;
    const type = isTest ? 'test' : 'operator.alert';
    const body = JSON.stringify({ type, timestamp: at, data: { begun, ended } });
    const sent_at_s = Math.floor(this.#deps.now() / 1_000);
    const headers = signedHeaders({ message_id: `msg_${id}`, sent_at_s, body }, [secret]);
    const { status, answer } = await this.#sender.send(url, headers, body);
    if (status === null) throw new Error(`the webhook of operators did not answer: ${answer}`);
    if (status < 200 || status > 299) throw new Error(`the webhook of operators answered ${status}`);
  }

  close(): Promise<void> {
    return this.#sender.close();
  }
}
