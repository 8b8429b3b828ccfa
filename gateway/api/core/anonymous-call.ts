/** Calls without a key: free operations, mostly answered from a cache. */

import type { AnonymousVerdict } from '../metering/metering.ts';
import type { Content, Plan } from '../operations/operation.ts';
import type { Snapshot } from '../snapshot/editions/snapshot.ts';
import type { Call } from './call.ts';
import type { ApiError } from './errors.ts';
import { planCall, type Unplanned } from './plan-call.ts';
import { anonymous, type Result } from './result.ts';

export function answerAnonymous<Rendered>(
  verdict: AnonymousVerdict,
  call: Call<Rendered>,
  snapshot: Snapshot,
): Result<Rendered> | Promise<Result<Rendered>> {
  if (verdict.kind === 'rate_limited') {
    const error: ApiError = { code: 'rate_limited', retryAfter_s: verdict.retry_after_s };
    return { kind: 'error', error, ...anonymous(snapshot) };
  }
  const cached = call.cached(snapshot);
  // Written out: a spread here costs as much as the rest of a cached answer.
  if (cached !== null) return { kind: 'success', rendered: cached, key_id: null, quota: null, snapshot };
  const planned = planCall(call, snapshot);
  return planned instanceof Promise
    ? planned.then((decided) => renderFree(decided, call, snapshot))
    : renderFree(planned, call, snapshot);
}

function renderFree<Rendered>(
  planned: Plan | Unplanned,
  call: Call<Rendered>,
  snapshot: Snapshot,
): Result<Rendered> | Promise<Result<Rendered>> {
  const { edition } = planned;
  const about = anonymous(edition ?? snapshot);
  if (planned.kind !== 'plan') return { ...planned, ...about };
  if (planned.price > 0) throw new Error(`${call.route} has a price but does not require a key`);
  const success = (rendered: Rendered): Result<Rendered> => ({ kind: 'success', rendered, ...about });
  const render = (content: Content) => call.render(content, snapshot, edition);
  const content = planned.produce(null);
  const rendered = content instanceof Promise ? content.then(render) : render(content);
  return rendered instanceof Promise ? rendered.then(success) : success(rendered);
}
