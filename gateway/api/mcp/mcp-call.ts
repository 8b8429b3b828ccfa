/** A call of an operation as this adapter makes it, and what becomes of its result. */
import { type ApiError, ERRORS } from '../core/errors.ts';
import type { Call, Executor, QuotaStatus, Result } from '../core/execute.ts';
import type { Content, Operation } from '../operations/operation.ts';
import type { ParameterReading } from '../operations/parameters/parameter-reader.ts';
import type { ValidationDetail } from '../operations/parameters/validation.ts';
import type { Snapshot } from '../snapshot/editions/snapshot.ts';

/** One message, which may make several calls. */
export interface RequestContext {
  executor: Pick<Executor, 'execute'>;
  /** Unique for each call. */
  newRequestId: () => string;
  authorization: string | undefined;
  address: () => string;
  origin: () => string | undefined;
  publicUrl: string;
  /** Told of each call. */
  onCall: (called: Called) => void;
  /**
   * Answers with a list that is JSON text already. @param list its name in the result
   * @returns what the protocol's library is given in its place
   */
  prepared: <Name extends string>(list: Name, json: string) => Record<Name, never[]>;
}

export interface Called {
  route: string;
  keyId: string | null;
  charged: number;
  /** In a rate window. */
  isCounted: boolean;
  /** Takes back the charge, where there may be one. */
  onFault: ((fault: unknown) => Promise<void>) | undefined;
}

export interface AskedCall {
  operation: Operation;
  /** Names the call in usage and ledger. */
  route: string;
  path?: Readonly<Record<string, string>>;
  reading: ParameterReading<unknown>;
}

export type CallError = ApiError | { code: 'invalid_arguments'; message: string };

export type Outcome<Made> = { quota: QuotaStatus | null } & ({ made: Made } | { error: CallError });

/** Never rejects. @param render what becomes of the operation's content */
export async function carryOut<Made>(
  asked: AskedCall,
  context: RequestContext,
  render: (content: Content, snapshot: Snapshot) => Made | Promise<Made>,
): Promise<Outcome<Made>> {
  const { operation, route, path = {}, reading } = asked;
  const { executor, newRequestId, authorization, address, origin, publicUrl, onCall } = context;
  const call: Call<Made> = {
    operation,
    route,
    requestId: newRequestId(),
    authorization,
    path,
    address,
    origin,
    publicUrl,
    readQuery: () => reading,
    cached: () => null,
    render: async (content, snapshot) => render(content, snapshot),
  };
  const result = await executor.execute(call);
  const outcome = outcomeOf(result);
  onCall({
    route,
    keyId: result.key_id,
    charged: result.quota?.charged ?? 0,
    isCounted: !('error' in outcome && isUncounted(outcome.error)),
    onFault: result.kind === 'success' ? result.onFault : undefined,
  });
  return outcome;
}

const KEY_REFUSED: ReadonlySet<CallError['code']> = new Set([
  'unauthorized',
  'invalid_key',
  'key_restricted',
]);

/** A key that is missing or refused has no rate window. */
export const isUncounted = ({ code }: CallError): boolean => KEY_REFUSED.has(code);

function outcomeOf<Made>(result: Result<Made>): Outcome<Made> {
  const { quota } = result;
  if (result.kind === 'success') return { made: result.rendered, quota };
  if (result.kind === 'error') return { error: result.error, quota };
  return { error: { code: 'invalid_arguments', message: detailText(result.detail) }, quota };
}

/** A JSON document. */
export async function textOf(content: Content, { routes }: Snapshot): Promise<string> {
  if (content.kind === 'document') return content.json.toString();
  if (content.kind === 'file') return (await routes.bytes(content.path, 'identity')).toString();
  throw new Error(`a ${content.kind} is no answer of a tool`);
}

const detailText = (detail: readonly ValidationDetail[]): string =>
  detail.map(({ loc, msg }) => `${loc.slice(1).join('.') || 'arguments'}: ${msg}`).join('; ');

export const errorText = (error: CallError): string =>
  error.message ?? (error.code === 'invalid_arguments' ? '' : ERRORS[error.code].message);
