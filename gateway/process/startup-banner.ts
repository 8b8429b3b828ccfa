/** The start-up banner: the URL, a demo key, and three calls that work when pasted. */
import type { IndicatorRecord } from '../../data/schema/records.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

const YEARS_SHOWN = 5;
const COUNTRIES_SHOWN = 3;

/** What can be tried without set-up; null where there is none. */
export interface TrialAccess {
  demoKey: string | null;
  operator: { email: string; password: string } | null;
  /** A sentence that says how mail is delivered. */
  mail: string;
}

/** @param url of the gateway, without a trailing slash. */
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

/** A free call, a ranking and an export, of an indicator in this snapshot. */
async function exampleCalls(url: string, snapshot: Snapshot, key: string): Promise<string[]> {
  const calls = [`curl '${url}/v1/indicators?featured=true&limit=3'`];
  const record = exampleIndicator(snapshot);
  const latest = record?.coverage?.latest_year;
  if (!record || latest === null || latest === undefined) return calls;
  const authorization = `-H 'Authorization: Bearer ${key}'`;
  const columns = await snapshot.observations.year(record.id, latest);
  const countries = columns.countries
    .filter((country) => columns.rowOf(country, latest) >= 0)
    .slice(0, COUNTRIES_SHOWN);
  const filter = `countries=${countries.join(',')}&from=${latest - YEARS_SHOWN + 1}&to=${latest}`;
  calls.push(`curl ${authorization} '${url}/v1/rankings/${record.id}'`);
  calls.push(`curl ${authorization} '${url}/v1/data?indicator=${record.id}&${filter}&format=csv'`);
  return calls;
}

/** The open indicator with the widest coverage, featured ones first. */
function exampleIndicator({ catalogue }: Snapshot): IndicatorRecord | undefined {
  const open = catalogue
    .ordered('coverage', 'desc')
    .map(({ record }) => record)
    .filter((record) => !record.no_rank && record.access_tier === 'open');
  return open.find((record) => record.featured) ?? open[0];
}
