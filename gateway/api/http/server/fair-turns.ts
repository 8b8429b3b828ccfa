/**
 * Fair turns: one address cannot keep the process from answering others.
 *
 * Each turn of the event loop would serve all that has arrived, and thirty connections of one caller always have another
 * request there. So while anybody else waits for an answer, an address starts at most `STARTS` requests a period; the rest
 * waits. Requests with a key are not held back, unless the last answer to the address was a refusal. An address that is
 * alone is never held back: behind a proxy without `TRUST_PROXY` everybody has the same.
 */
import type { IncomingMessage, RequestListener } from 'node:http';

const PERIOD_MS = 10;
const STARTS = 4;
/** An address is forgotten after so many periods without a request. Until then it waits, as far as others are concerned. */
const IDLE_PERIODS = 20;
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

interface Caller {
  /** Requests without an answer, those that wait included. */
  open: number;
  /** In this period. */
  started: number;
  idlePeriods: number;
  isRefused: boolean;
  waiting: (() => void)[];
}

/** Wraps a listener. @param addressOf of the caller; see `addressReader` */
export function takeFairTurns(
  listener: RequestListener,
  addressOf: (request: IncomingMessage) => string,
): RequestListener {
  const callers = new Map<string, Caller>();
  let timer: NodeJS.Timeout | null = null;

  const beginPeriod = (): void => {
    for (const [address, caller] of callers) {
      caller.started = 0;
      caller.idlePeriods = caller.open === 0 ? caller.idlePeriods + 1 : 0;
      if (caller.idlePeriods > IDLE_PERIODS) callers.delete(address);
    }
    for (const caller of callers.values())
      for (const start of caller.waiting.splice(0, callers.size === 1 ? caller.waiting.length : STARTS)) {
        caller.started += 1;
        start();
      }
    if (callers.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };

  return (request, response) => {
    const address = addressOf(request);
    let caller = callers.get(address);
    if (caller === undefined) {
      caller = { open: 0, started: 0, idlePeriods: 0, isRefused: false, waiting: [] };
      callers.set(address, caller);
      timer ??= setInterval(beginPeriod, PERIOD_MS).unref();
    }
    const own = caller;
    own.open += 1;
    response.once('close', () => {
      own.open -= 1;
      own.isRefused = REFUSALS.has(response.statusCode);
    });
    const isHeld =
      callers.size > 1 &&
      (own.isRefused || request.headers.authorization === undefined) &&
      (own.started >= STARTS || own.waiting.length > 0);
    if (isHeld) {
      own.waiting.push(() => {
        if (!response.destroyed) listener(request, response);
      });
      return;
    }
    own.started += 1;
    listener(request, response);
  };
}
