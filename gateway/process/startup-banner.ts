/** The start-up banner: addresses, sign-ins, what is served, and calls that work when pasted. The last thing printed. */
import { exampleSeries, type Snapshot, wellKnownFirst } from '../api/snapshot/snapshot.ts';

/** What can be tried without set-up; null where there is none. */
export interface TrialAccess {
  demoKey: string | null;
  operator: { email: string; password: string } | null;
  /** A sentence that says how mail is delivered. */
  mail: string;
}

/** @param url of the gateway, without a trailing slash. */
export function startupBanner(
  url: string,
  snapshot: Snapshot | null,
  { demoKey, operator, mail }: TrialAccess,
): string {
  const table = [
    ['Site', `${url}/`],
    ['Documentation', `${url}/docs`],
    ['Sign up', `${url}/account/sign-up`],
    ...(operator
      ? [
          ['Operator area', `${url}/admin/`],
          ['', `e-mail ${operator.email}, password ${operator.password}`],
        ]
      : []),
    ...(demoKey === null ? [] : [['Demo key', demoKey]]),
    ['Data', snapshot ? contents(snapshot) : 'none yet; a snapshot is served as soon as it is published'],
    ['Mail', mail],
  ];
  const lines = table.map(([label = '', text = '']) => `  ${label.padEnd(15)}${text}`);
  const calls = snapshot ? exampleCalls(url, snapshot, demoKey ?? '<your key>') : [];
  const tried = calls.length > 0 ? ['', 'First calls:', ...calls.map((call) => `  ${call}`)] : [];
  return ['', `Almanac listens on ${url}`, '', ...lines, ...tried, '', ''].join('\n');
}

function contents({ id, manifest }: Snapshot): string {
  const { countries, indicators, observations } = manifest.counts;
  return `${observations.toLocaleString('en')} observations, ${indicators} indicators, ${countries} countries (${id})`;
}

/** A free call, a ranking and an export, of an indicator in this snapshot. A start reads no figures for them. */
function exampleCalls(url: string, snapshot: Snapshot, key: string): string[] {
  const search = `curl '${url}/v1/indicators?sort=coverage&limit=3'`;
  const series = exampleSeries(snapshot);
  if (series === null) return [search];
  const { indicator, from, to } = series;
  const authorization = `-H 'Authorization: Bearer ${key}'`;
  const countries = wellKnownFirst([...snapshot.countriesByCode.keys()]);
  const filter = `countries=${countries.join(',')}&from=${from}&to=${to}`;
  return [
    search,
    `curl ${authorization} '${url}/v1/rankings/${indicator.id}'`,
    `curl ${authorization} '${url}/v1/data?indicator=${indicator.id}&${filter}&format=csv'`,
  ];
}
