/** What a person sees at the start: where it listens, a key to try, and three calls that work when pasted. */
import type { IndicatorRecord } from '../../data/schema/records.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

const YEARS_SHOWN = 5;
const COUNTRIES_SHOWN = 3;

/** What works out of the box; null where there is none. */
export interface TrialAccess {
  demoKey: string | null;
  operator: { email: string; password: string } | null;
  /** What becomes of mail, in a sentence. */
  mail: string;
}

/** @param url address of the gateway without a slash at the end. */
export async function startupBanner(
  url: string,
  snapshot: Snapshot | null,
  { demoKey, operator, mail }: TrialAccess,
): Promise<string> {
  const lines = ['', `Almanac listens on ${url} (docs: ${url}/docs)`];
  lines.push(`Accounts: ${url}/account/sign-up. ${mail}`);
  if (operator !== null)
    lines.push(`Operator area: ${url}/admin/ (sign in as ${operator.email}, password ${operator.password})`);
  if (snapshot === null) {
    return [
      ...lines,
      'There is no snapshot yet: run `npm run build-data -- sample`; it is served when ready.',
      '',
    ].join('\n');
  }
  const { countries, indicators, observations } = snapshot.manifest.counts;
  lines.push(
    `Snapshot ${snapshot.id}: ${observations.toLocaleString('en')} observations, ` +
      `${indicators} indicators, ${countries} countries`,
  );
  if (demoKey !== null) lines.push(`Demo key, with credits: ${demoKey}`);
  const calls = await exampleCalls(url, snapshot, demoKey ?? '<your key>');
  return [...lines, '', 'Try:', ...calls.map((call) => `  ${call}`), ''].join('\n');
}

/** A free call, a ranking and an export, of an indicator that this snapshot really holds. */
async function exampleCalls(url: string, snapshot: Snapshot, key: string): Promise<string[]> {
  const calls = [`curl '${url}/v1/indicators?featured=true&limit=3'`];
  const record = exampleIndicator(snapshot);
  const latest = record?.coverage?.latest_year;
  if (!record || latest === null || latest === undefined) return calls;
  const authorization = `-H 'Authorization: Bearer ${key}'`;
  const slice = await snapshot.observations.year(record.id, latest);
  const countries = slice.countries
    .filter((country) => slice.rowOf(country, latest) >= 0)
    .slice(0, COUNTRIES_SHOWN);
  const filter = `countries=${countries.join(',')}&from=${latest - YEARS_SHOWN + 1}&to=${latest}`;
  calls.push(`curl ${authorization} '${url}/v1/rankings/${record.id}'`);
  calls.push(`curl ${authorization} '${url}/v1/data?indicator=${record.id}&${filter}&format=csv'`);
  return calls;
}

/** The widest indicator that may be ranked and exported; a featured one when there is any. */
function exampleIndicator({ catalogue }: Snapshot): IndicatorRecord | undefined {
  const open = catalogue
    .ordered('coverage', 'desc')
    .map(({ record }) => record)
    .filter((record) => !record.no_rank && record.access_tier === 'open');
  return open.find((record) => record.featured) ?? open[0];
}
