/**
 * Calls of operations: carried out by `execute` for a message, or planned on behalf of a tool, whose answer is made of theirs.
 * Parameters are given as values, which the operation's own schema checks.
 */
import { type ApiError, ERRORS } from '../core/errors.ts';
import type { Call, Executor, QuotaStatus, Result } from '../core/execute.ts';
import {
  type Content,
  checkValues,
  type Operation,
  type ParameterReading,
  type Planned,
  type ValidationDetail,
} from '../operations/operations.ts';
import type { Edition, Snapshot } from '../snapshot/snapshot.ts';

/** One message, which may make several calls. */
export interface RequestContext {
  executor: Pick<Executor, 'execute'>;
  /** Unique for each call. */
  newRequestId: () => string;
  authorization: string | undefined;
  address: () => string;
  origin: () => string | undefined;
  publicUrl: string;
  /** What a call is told whose credential is missing or does not work, as `WWW-Authenticate`. */
  challenge: (reason?: string) => string;
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
  /** A credential is missing, or does not work. */
  needsSignIn: boolean;
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
    takesTokens: true,
    path,
    address,
    origin,
    publicUrl,
    readQuery: () => reading,
    cached: () => null,
    render: async (content, snapshot) => render(content, snapshot),
  };
  const result = await executor.execute(call);
  const outcome = toOutcome(result);
  onCall({
    route,
    keyId: result.key_id,
    charged: result.quota?.charged ?? 0,
    isCounted: !('error' in outcome && isUncounted(outcome.error)),
    needsSignIn: 'error' in outcome && needsSignIn(outcome.error),
    onFault: result.kind === 'success' ? result.onFault : undefined,
  });
  return outcome;
}

/** Signing in helps. */
export const needsSignIn = ({ code }: Pick<CallError, 'code'>): boolean =>
  code === 'unauthorized' || code === 'invalid_key';

/** A key that is missing or refused has no rate window. */
export const isUncounted = (error: CallError): boolean =>
  needsSignIn(error) || error.code === 'key_restricted';

function toOutcome<Made>(result: Result<Made>): Outcome<Made> {
  const { quota } = result;
  if (result.kind === 'success') return { made: result.rendered, quota };
  if (result.kind === 'error') return { error: result.error, quota };
  return { error: { code: 'invalid_arguments', message: detailText(result.detail) }, quota };
}

const detailText = (detail: readonly ValidationDetail[]): string =>
  detail.map(({ loc, msg }) => `${loc.slice(1).join('.') || 'arguments'}: ${msg}`).join('; ');

export const errorText = (error: CallError): string =>
  error.message ?? (error.code === 'invalid_arguments' ? '' : ERRORS[error.code].message);

/** Parameters as values, or as the texts that stand for them in a URL. */
type Given<Query> = { readonly [Name in keyof Query]?: Query[Name] | string | readonly string[] };

/** A call that a tool makes for its own answer. */
interface InnerCall<Query> {
  operation: Operation<Query>;
  path?: Readonly<Record<string, string>>;
  query?: Given<Query>;
}

/** What a tool is asked of, and where callers reach the service. */
export interface Asking {
  edition: Edition;
  publicUrl: string;
}

/** Its plan decides price and refusals. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function planInner<Query>(
  { edition: snapshot, publicUrl }: Asking,
  { operation, path = {}, query = {} }: InnerCall<Query>,
): Promise<Planned> {
  const checked = checkValues(operation.query, query);
  if (!checked.ok) return { kind: 'invalid', detail: checked.detail };
  return operation.plan({ snapshot, path, query: checked.values, publicUrl });
}

/** Calls that carry no `max_credits`. @param given values by name, each as its text or as itself */
export function readValues(
  { query }: Operation,
  given: Readonly<Record<string, unknown>>,
): ParameterReading<unknown> {
  const checked = checkValues(query, given);
  return checked.ok ? { ...checked, controls: {}, ignored: [] } : checked;
}

/** The path under which an edition can be asked for the same over HTTP. */
export function pathOf<Query>({ operation, path, query = {} }: InnerCall<Query>, { id }: Edition): string {
  const resource = operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(path?.[name] ?? ''),
  );
  const pairs = Object.entries({ ...query, as_of: id })
    .filter(([, value]) => value !== undefined)
    .map((pair) => pair.map((part) => encodeURIComponent(String(part))).join('='));
  return `/v1${resource}?${pairs.join('&')}`;
}

/** A JSON document. The call is one that is answered by such, not by a stored file. */
export async function documentOf<Body>(content: Content | Promise<Content>): Promise<Body> {
  const made = await content;
  if (made.kind !== 'document') throw new Error(`a document was expected, not a ${made.kind}`);
  return JSON.parse(made.json.toString());
}

/** A JSON document, or a file that is one. */
export async function textOf(content: Content, { routes }: Snapshot): Promise<string> {
  if (content.kind === 'document') return content.json.toString();
  if (content.kind === 'file') return (await routes.bytes(content.path, 'identity')).toString();
  throw new Error(`a ${content.kind} is no answer of a tool`);
}
