/** A valid request for each public route. */
export interface PublicRoute {
  template: string;
  path: string;
  key: 'optional' | 'required';
  price: number;
  /** Its answer is not `{ data, meta }`, but of the form of a standard. */
  isDocument?: true;
  /** It is a file, which answers HEAD, too. Its price is paid by lease. */
  isFile?: true;
}

export const PUBLIC_ROUTES: PublicRoute[] = [
  { template: '/v1/countries', path: '/v1/countries', key: 'optional', price: 0 },
  { template: '/v1/countries/{iso3}', path: '/v1/countries/KEN', key: 'required', price: 1 },
  { template: '/v1/indicators', path: '/v1/indicators', key: 'optional', price: 0 },
  {
    template: '/v1/indicators/{indicator_id}',
    path: '/v1/indicators/alpha.life_expectancy',
    key: 'optional',
    price: 0,
  },
  { template: '/v1/search', path: '/v1/search?q=life', key: 'optional', price: 0 },
  { template: '/v1/topics', path: '/v1/topics', key: 'optional', price: 0 },
  { template: '/v1/groups', path: '/v1/groups', key: 'optional', price: 0 },
  { template: '/v1/meta/freshness', path: '/v1/meta/freshness', key: 'optional', price: 0 },
  { template: '/v1/meta/coverage', path: '/v1/meta/coverage', key: 'optional', price: 0 },
  {
    template: '/v1/rankings/{indicator}',
    path: '/v1/rankings/alpha.life_expectancy',
    key: 'required',
    price: 1,
  },
  { template: '/v1/data', path: '/v1/data?indicator=alpha.life_expectancy', key: 'required', price: 9 },
  {
    template: '/v1/files/{indicator_id}.parquet',
    path: '/v1/files/alpha.life_expectancy.parquet',
    key: 'required',
    price: 9,
    isDocument: true,
    isFile: true,
  },
  {
    template: '/v1/bundles/{provider_id}.parquet',
    path: '/v1/bundles/alpha.parquet',
    key: 'required',
    price: 37,
    isDocument: true,
    isFile: true,
  },
  {
    template: '/v1/verify',
    path: '/v1/verify?claim=alpha.life_expectancy,KEN,2020,62.5&claim=alpha.life_expectancy,KEN,2021,62',
    key: 'required',
    price: 2,
  },
  { template: '/v1/editions', path: '/v1/editions', key: 'optional', price: 0 },
  {
    template: '/v1/catalog.jsonld',
    path: '/v1/catalog.jsonld',
    key: 'optional',
    price: 0,
    isDocument: true,
  },
  { template: '/v1/changes', path: '/v1/changes', key: 'optional', price: 0 },
  {
    template: '/v1/revisions',
    path: '/v1/revisions?indicator=alpha.life_expectancy',
    key: 'required',
    price: 1,
  },
  {
    template: '/v1/receipts',
    path: '/v1/receipts?indicator=alpha.life_expectancy&country=KEN&year=2020',
    key: 'required',
    price: 1,
  },
  { template: '/v1/log/consistency', path: '/v1/log/consistency?from=1', key: 'optional', price: 0 },
  ...[
    { template: '/v1/indicators/{indicator_id}', path: '/v1/indicators/alpha.life_expectancy' },
    { template: '/v1/providers/{provider_id}', path: '/v1/providers/alpha' },
    { template: '/v1/editions/{edition_id}', path: '/v1/editions/20261120T020000Z-00000001' },
  ].flatMap(({ template, path }) =>
    ['citation.bib', 'citation.json', 'datapackage.json', 'croissant.json'].map(
      (file): PublicRoute => ({
        template: `${template}/${file}`,
        path: `${path}/${file}`,
        key: 'optional',
        price: 0,
        isDocument: true,
      }),
    ),
  ),
  {
    template: '/v1/almanac.duckdb',
    path: '/v1/almanac.duckdb',
    key: 'optional',
    price: 0,
    isDocument: true,
    isFile: true,
  },
  { template: '/v1/usage', path: '/v1/usage', key: 'required', price: 0 },
  { template: '/v1/ping', path: '/v1/ping', key: 'required', price: 0 },
];

export const FREE_ROUTES = PUBLIC_ROUTES.filter(({ key }) => key === 'optional');
export const KEYED_ROUTES = PUBLIC_ROUTES.filter(({ key }) => key === 'required');
