/**
 * Notifications: mails, webhooks of customers, and alerts to operators.
 *
 * - `catalogue.ts` has a row for each event: its data, whether webhooks tell it, who gets which mail.
 * - The script that makes a change writes its event to the outbox in the same step, so no crash comes between a change and
 *   its telling; alerts to operators are such events. What no change causes (low balance, spending, new editions, keys that expire) is looked for periodically.
 * - The sweep hands events over to one job for each recipient and one delivery for each endpoint, each queued once.
 * - Mails are tried five times within two hours, webhooks ten times within three days. A mail or alert that was given up
 *   stays visible to operators, without addresses; a delivery stays in the log of its endpoint.
 * - Telling may repeat after a crash: each mail and delivery then has the id that it had.
 * - No job and no event holds a secret. Recipients are determined when the mail is sent.
 */
export {
  CHANGE_KINDS,
  ChangeAlerts,
  readToldKinds,
  type ServedEditions,
  setToldKinds,
} from './alerts/change-alerts.ts';
export { findExpiringKeys } from './alerts/expiring-keys.ts';
export {
  BalanceAlerts,
  PERIODS,
  type Period,
  SpendingAlerts,
  type SpendingLimit,
} from './alerts/ledger-alerts.ts';
export type { Condition } from './alerts/operator-alert.ts';
export { OperatorAlerts } from './alerts/operator-alerts.ts';
export { eventRow, SUBSCRIBABLE, WEBHOOK_EVENTS } from './catalogue.ts';
export { type GivenUpJob, GivenUpJobs } from './jobs/given-up.ts';
export { type JobData, type JobName, withoutAddresses } from './jobs/job-data.ts';
export {
  type JobHandlers,
  type JobProducer,
  JobQueue,
  prepareJobId,
  startJobWorker,
  WEBHOOK_ATTEMPTS,
  WEBHOOK_DELAYS_MS,
} from './jobs/queue.ts';
export { createMailer, type Mailer } from './mail/mailer.ts';
export { type LinkPayload, SignedLinks } from './mail/signed-links.ts';
export * as templates from './mail/templates.ts';
export { Outbox, type StoredEvent } from './outbox.ts';
export { Teller } from './tell.ts';
export { type Delivery, DeliveryLog, DISABLE_AFTER_DAYS, KEPT } from './webhooks/delivery-log.ts';
export { endpointsFrom, MAX_ENDPOINTS, type WebhookEndpoint } from './webhooks/endpoint-records.ts';
export { OLD_SECRET_MS, type SigningEndpoint } from './webhooks/endpoint-store.ts';
export { SEND_TIMEOUT_MS } from './webhooks/sender.ts';
export { Webhooks } from './webhooks/webhooks.ts';
