/** Fuzzes the public routes: what must hold for the answer to any request. */
import fc from 'fast-check';
import { FIXTURE_ID } from '../gateway/fixture-snapshot.ts';
import type { Answer, Service, TestKey } from '../gateway/service.ts';
import { type AttackCase, attackCases, type KnownValues, validCases } from './cases.ts';

/** Internal detail that no answer may contain: paths, stack frames, names of libraries. */
export const INTERNALS =
  /node_modules|\.ts\b|\bat [A-Z]\w+\.|read_parquet|FST_|Error:|\/(?:home|root|tmp|usr|var)\/|redis|duckdb|fastify/i;

/** Existing and missing values of the fixture snapshot. */
export const KNOWN: KnownValues = {
  iso3: ['KEN', 'ken', 'DEU', 'XKX'],
  indicator_id: ['alpha.life_expectancy', 'beta.co2_emissions'],
  provider_id: ['alpha', 'beta'],
  edition_id: [FIXTURE_ID],
  indicator: ['alpha.life_expectancy'],
  indicators: ['alpha.life_expectancy', 'beta.co2_emissions, alpha.life_expectancy'],
  fields: ['value', 'iso3,year,value,status', 'm49,rank_lo,name'],
  countries: ['KEN', 'ken, DEU', 'ZZZ,KEN,KEN', 'ke,404,@eu'],
  region: ['South Asia', 'nowhere'],
  topic: ['health', 'nothing'],
  provider: ['alpha', 'none'],
  year: ['latest', '2020', '1900'],
  from: ['1900', '2000'],
  to: ['2000', '2030'],
  years: ['2000', '2020,2000, 2000'],
  claim: ['alpha.life_expectancy,KEN,2020,62.5', 'gamma.reserves,BRA,2019,1e1', 'none.x,ZZZ,-1,.5'],
  transform: ['change', 'mean:2', 'mean:1,change:1'],
  q: ['life', 'LIFE expectancy', 'é'],
  as_of: ['2099-01-01', '2030-06-01T12:00:00Z', '2030-06-01T12:00:00+05:30'],
  since: ['2020-01-01', '2099-01-01'],
  max_credits: ['1000000'],
  // A figure and sizes of the log that are there.
  '/data/api/v1/receipts country': ['KEN', 'ken'],
  '/data/api/v1/receipts year': ['2020'],
  '/data/api/v1/log/consistency from': ['1'],
  '/data/api/v1/log/consistency to': ['1'],
};

const OTHER = 'alm_live_0123456789ab_0000000000000000000000000000000000000000';

/** @returns what is wrong with an answer; null when nothing is. */
export function wrongWith(answer: Answer): string | null {
  const { status, headers, text } = answer;
  if (status >= 500) return `answered ${status}`;
  if (headers['x-request-id'] === undefined) return 'no X-Request-Id';
  if (headers['x-content-type-options'] !== 'nosniff') return 'may be sniffed';
  if (headers['x-injected'] !== undefined) return 'a header was injected';
  if (headers['set-cookie'] !== undefined) return 'a cookie was set';
  if (status < 400) return null;
  if (headers['cache-control'] !== 'no-store') return 'an error may be stored';
  if (!String(headers['content-type']).startsWith('application/json')) return 'an error is not JSON';
  const charged = headers['x-credits-charged'];
  if (charged !== undefined && charged !== '0') return `a refusal charged ${charged}`;
  const found = INTERNALS.exec(withoutEcho(answer, text));
  return found ? `leaks internal detail: ${found[0]}` : null;
}

/** Removes the caller's input, which validation errors and messages repeat. */
function withoutEcho({ status, json }: Answer, text: string): string {
  if (status === 422)
    return JSON.stringify(
      json.detail.map(({ input: _input, loc: _loc, ...rest }: { input?: unknown; loc: unknown }) => rest),
    );
  return status === 404 ? String(json.error.code) : text;
}

const ask = (service: Service, owner: TestKey, { path, headers, credential }: AttackCase): Promise<Answer> =>
  service.get(path, {
    headers,
    ...(credential === 'owner' && { key: owner.key }),
    ...(credential === 'other' && { key: OTHER }),
  });

export interface FuzzOutcome {
  cases: number;
  /** Answers by status. */
  statuses: Map<number, number>;
  /** Sum of X-Credits-Charged. */
  charged: number;
}

/**
 * Sends `runs` cases. Checks each answer with `wrongWith` and, in the service, against the OpenAPI description.
 * @throws with the smallest failing case.
 */
export async function fuzzPublicRoutes(
  service: Service,
  owner: TestKey,
  { runs, seed }: { runs: number; seed?: number },
): Promise<FuzzOutcome> {
  const outcome: FuzzOutcome = { cases: 0, statuses: new Map(), charged: 0 };
  const property = fc.asyncProperty(attackCases(KNOWN), async (one) => {
    const answer = await ask(service, owner, one);
    outcome.cases += 1;
    outcome.statuses.set(answer.status, (outcome.statuses.get(answer.status) ?? 0) + 1);
    outcome.charged += Number(answer.headers['x-credits-charged'] ?? 0);
    const wrong = wrongWith(answer);
    if (wrong !== null) throw new Error(`${wrong}: ${answer.text.slice(0, 300)}`);
  });
  await fc.assert(property, { numRuns: runs, ...(seed !== undefined && { seed }) });
  return outcome;
}

/** Sends cases that follow the description: each must get a 200. */
export async function expectValidRequestsAnswered(
  service: Service,
  owner: TestKey,
  runs: number,
): Promise<void> {
  const property = fc.asyncProperty(validCases(KNOWN), async (one) => {
    const answer = await ask(service, owner, one);
    const wrong = answer.status === 200 ? wrongWith(answer) : `answered ${answer.status}`;
    if (wrong !== null) throw new Error(`${wrong}: ${answer.text.slice(0, 300)}`);
  });
  await fc.assert(property, { numRuns: runs });
}
