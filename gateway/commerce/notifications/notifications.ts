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
export * from './alerts/change-alerts.ts';
export * from './alerts/expiring-keys.ts';
export * from './alerts/ledger-alerts.ts';
export * from './alerts/operator-alert.ts';
export * from './alerts/operator-alerts.ts';
export * from './catalogue.ts';
export * from './jobs/given-up.ts';
export * from './jobs/job-data.ts';
export * from './jobs/queue.ts';
export * from './mail/mailer.ts';
export * from './mail/signed-links.ts';
export * as templates from './mail/templates.ts';
export * from './outbox.ts';
export * from './tell.ts';
export * from './webhooks/delivery-log.ts';
export * from './webhooks/endpoint-records.ts';
export * from './webhooks/endpoint-store.ts';
export * from './webhooks/sender.ts';
export * from './webhooks/webhooks.ts';
