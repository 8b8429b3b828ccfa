/**
 * What the service says of itself. This is the door of the room.
 *
 * - Ready means that every call can be answered: the files of the served snapshot are there and Redis takes writes.
 * - Availability is measured by minute and kept for a year. Gateways agree without knowing each other; a repeated or late
 *   record changes nothing, and a minute that no gateway recorded counts as unavailable.
 * - The status is at most some seconds old, answers also while nothing is served, and leaves out what Redis does not tell.
 * - Nothing here costs a caller anything or decides about a call.
 */
export { AvailabilityLog, type DayOfAvailability, share } from './availability.ts';
export { monitorReadiness, type ReadinessParts, readiness } from './readiness.ts';
export { type ServiceStatus, ServiceStatusReader } from './service-status.ts';
