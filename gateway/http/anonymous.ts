/**
 * The way in without a key: is one needed (401), the rate of the address (429), then the answer, which is free. Most answers
 * wait for nothing and cost less than a promise for them would.
 */

import type { AnonymousVerdict } from '../metering/metering.ts';
import type { AdmissionDependencies, Passenger } from './passenger.ts';
import { type Gate, prepare, sendPrepared } from './prepare.ts';
import { sendRefusal } from './send.ts';

/** Answers, at once where nothing has to be waited for. May throw or reject. */
export function answerAnonymous(
  gate: Gate,
  { metering, addressOf }: AdmissionDependencies,
  passenger: Passenger,
): void | Promise<void> {
  if (gate.needsKey) return sendRefusal({ code: 'unauthorized' }, passenger.exchange);
  const asked = metering.admitAddress(addressOf(passenger.request));
  return asked instanceof Promise
    ? asked.then((verdict) => answerAdmitted(gate, verdict, passenger))
    : answerAdmitted(gate, asked, passenger);
}

function answerAdmitted(
  gate: Gate,
  verdict: AnonymousVerdict,
  { request, way, exchange, snapshot }: Passenger,
): void | Promise<void> {
  if (verdict.kind === 'rate_limited') {
    return sendRefusal({ code: 'rate_limited', retryAfterS: verdict.retry_after_s }, exchange);
  }
  const preparing = prepare(gate, way, request, snapshot);
  return preparing instanceof Promise
    ? preparing.then((prepared) => sendPrepared(prepared, exchange, snapshot))
    : sendPrepared(preparing, exchange, snapshot);
}
