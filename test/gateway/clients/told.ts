/** What a service says to the calls that `typescript/use.ts` and `python/use.py` make, in the form in which they print it. */
import type { Answer, Service } from '../service.ts';

export const INDICATOR = 'alpha.life_expectancy';
export const OTHER = 'beta.life_expectancy';

const FILE = `/v1/files/${INDICATOR}.parquet`;

interface Row {
  indicator: string;
  iso3: string;
  year: number;
  value: number | null;
  name: string;
  id: string;
  verdict: string;
  [indicator: string]: unknown;
}

const rowsOf = ({ json }: Answer): Row[] => json.data;
const codeOf = ({ status, json }: Answer): unknown[] => [status, json.error.code];

/** Without any client. @param key of an account with credits */
export async function toldTo(service: Service, key: string): Promise<object> {
  const ask = (path: string) => service.get(path, { key });
  const data = (query: string) => ask(`/v1/data?${query}`);
  const both = `indicators=${INDICATOR},${OTHER}`;
  const usual = await data(`indicator=${INDICATOR}&countries=KEN,DEU`);
  const detail = (await ask(`/v1/indicators/${INDICATOR}`)).json.data;
  const claims = `claim=${INDICATOR},KEN,2020,1&claim=${INDICATOR},DEU,2020,2`;
  return {
    indicators: rowsOf(await ask('/v1/indicators?limit=3&featured=true')).map(({ id }) => id),
    detail: [detail.name, detail.related.length],
    again: 304,
    rows: rowsOf(usual).map(({ iso3, year, value }) => [iso3, year, value]),
    attribution: usual.json.meta.attribution,
    several: rowsOf(await data(`${both}&countries=KEN,DEU`)).map(({ indicator, iso3, year, value }) => [
      indicator,
      iso3,
      year,
      value,
    ]),
    chosen: rowsOf(await data(`indicator=${INDICATOR}&countries=KEN,DEU&fields=name,value`)).map(
      ({ name, value }) => [name, value],
    ),
    wide: rowsOf(await data(`${both}&layout=wide`)).map((row) => [row.iso3, row.year, row[INDICATOR]]),
    price: (await data(`indicator=${INDICATOR}&dry_run=true`)).json.data.price,
    verdicts: rowsOf(await ask(`/v1/verify?${claims}`)).map(({ verdict }) => verdict),
    charged: 1,
    errors: [
      codeOf(await data('indicator=none.such')),
      codeOf(await data(`indicator=${INDICATOR}&max_credits=1`)),
      codeOf(await service.get('/v1/ping', { key: 'none' })),
    ],
    invalid: [['query', 'latest', 'greater_than_equal']],
    file: [(await ask(FILE)).bytes.length, 'PAR1', 206],
    csv: (await data(`indicator=${INDICATOR}&format=csv`)).text.split('\r\n'),
  };
}
