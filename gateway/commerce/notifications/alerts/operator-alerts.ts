/**
 * Tells operators by mail and webhook what began and what ended. The script that finds it writes an event to the operators'
 * outbox; each channel gets a job of its own, which is tried again until the receiver accepted the alert.
 *
 * Between a delivery and the end of its job a process may end; then the alert is delivered again under the same id.
 */
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import type { Settings } from '../../../../data/runtime/settings.ts';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import type { JobData } from '../jobs/job-data.ts';
import type { JobProducer } from '../jobs/queue.ts';
import { operatorAlert } from '../mail/alert-templates.ts';
import type { Mailer } from '../mail/mailer.ts';
import { drainOutbox } from '../outbox.ts';
import { WebhookSender } from '../webhooks/sender.ts';
import { signedHeaders } from '../webhooks/signature.ts';
import type { AlertChannel, OperatorAlert } from './operator-alert.ts';

type AlertSettings = Pick<
  Settings,
  'OPERATOR_ALERT_EMAIL' | 'OPERATOR_WEBHOOK_URL' | 'OPERATOR_WEBHOOK_SECRET'
>;

export interface OperatorAlertDependencies {
  redis: RedisClient;
  settings: AlertSettings;
  mailer: Mailer;
  /** Unix milliseconds. */
  now: () => number;
  random: (bytes: number) => Buffer;
}

const ID_BYTES = 12;

export class OperatorAlerts {
  readonly #redis: RedisClient;
  readonly #email: string | null;
  readonly #webhook: { url: string; secret: string } | null;
  readonly #mailer: Mailer;
  readonly #now: () => number;
  readonly #random: (bytes: number) => Buffer;
  /** The operators' own receiver may be on their network. */
  readonly #sender = new WebhookSender({ allowsPrivate: true, allowsAnyPort: true });

  constructor({ redis, settings, mailer, now, random }: OperatorAlertDependencies) {
    const { OPERATOR_WEBHOOK_URL: url, OPERATOR_WEBHOOK_SECRET: secret } = settings;
    this.#redis = redis;
    this.#email = settings.OPERATOR_ALERT_EMAIL ?? null;
    this.#webhook = url === undefined || secret === undefined ? null : { url, secret };
    this.#mailer = mailer;
    this.#now = now;
    this.#random = random;
  }

  /** Empty where alerts are off. */
  get channels(): AlertChannel[] {
    return [
      ...(this.#email === null ? [] : ['mail' as const]),
      ...(this.#webhook ? ['webhook' as const] : []),
    ];
  }

  /** Where alerts go, without what a URL may keep secret; empty where they are off. */
  get targets(): string[] {
    return [
      ...(this.#email === null
        ? []
        : [this.#mailer.delivers ? this.#email : `${this.#email} (as files: SMTP_URL is not set)`]),
      ...(this.#webhook === null ? [] : [`the webhook at ${new URL(this.#webhook.url).host}`]),
    ];
  }

  newId(): string {
    return this.#random(ID_BYTES).toString('base64url');
  }

  /** Sends an alert that says it is a test. Rejects without Redis. */
  async sendTest(jobs: JobProducer): Promise<void> {
    const at = new Date(this.#now()).toISOString();
    const alert: OperatorAlert = { id: this.newId(), at, isTest: true, begun: [], ended: [] };
    const event = { type: 'operator.alert', at_ms: this.#now(), data: alert };
    await this.#redis.hset(redisKeys.operatorOutbox, `operator.alert:${alert.id}`, JSON.stringify(event));
    await this.queueDeliveries(jobs);
  }

  /** Queues a job for each alert that waits and each channel, once. */
  queueDeliveries(jobs: JobProducer): Promise<void> {
    return drainOutbox(this.#redis, redisKeys.operatorOutbox, async ({ data }) => {
      // Written by `sendTest` or note-conditions.lua, in this form.
      const alert = data as OperatorAlert;
      for (const channel of this.channels)
        await jobs.addOnce('operator-alert', { alert, channel }, `operator-alert-${alert.id}.${channel}`);
      return 'taken';
    });
  }

  /** Job: delivers an alert. Rejects if the receiver did not accept it. */
  async deliver({ alert, channel }: JobData['operator-alert']): Promise<void> {
    if (channel === 'webhook') await this.#post(alert);
    else if (this.#email !== null) await this.#mailer.send(operatorAlert(this.#email, alert));
  }

  close(): Promise<void> {
    return this.#sender.close();
  }

  async #post({ id, at, isTest, begun, ended }: OperatorAlert): Promise<void> {
    if (this.#webhook === null) return;
    const { url, secret } = this.#webhook;
    const type = isTest ? 'test' : 'operator.alert';
    const body = JSON.stringify({ type, timestamp: at, data: { begun, ended } });
    const sent_at_s = Math.floor(this.#now() / 1_000);
    const headers = signedHeaders({ message_id: `msg_${id}`, sent_at_s, body }, [secret]);
    const { status, answer } = await this.#sender.send(url, headers, body);
    if (status === null) throw new Error(`the webhook of operators did not answer: ${answer}`);
    if (status < 200 || status > 299) throw new Error(`the webhook of operators answered ${status}`);
  }
}
