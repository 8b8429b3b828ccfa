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

const IN_PATHS: Record<string, string> = {
  iso3: 'KEN',
  indicator: 'alpha.life_expectancy',
  indicator_id: 'alpha.life_expectancy',
  provider_id: 'alpha',
  edition_id: '20261120T020000Z-00000001',
};
type Kind = Omit<Partial<PublicRoute>, 'template' | 'path'>;

const open = (template: string, query = '', kind: Kind = {}): PublicRoute => ({
  template,
  path: template.replaceAll(/\{(\w+)\}/g, (_, name: string) => IN_PATHS[name] ?? '') + query,
  key: 'optional',
  price: 0,
  ...kind,
});
const keyed = (template: string, price: number, query = '', kind: Kind = {}): PublicRoute =>
  open(template, query, { key: 'required', price, ...kind });
const FILE: Kind = { isDocument: true, isFile: true };

export const PUBLIC_ROUTES: PublicRoute[] = [
  open('/v1/countries'),
  keyed('/v1/countries/{iso3}', 1),
  open('/v1/indicators'),
  open('/v1/indicators/{indicator_id}'),
  open('/v1/search', '?q=life'),
  open('/v1/topics'),
  open('/v1/groups'),
  open('/v1/meta/freshness'),
  open('/v1/meta/coverage'),
  keyed('/v1/rankings/{indicator}', 1),
  keyed('/v1/data', 9, '?indicator=alpha.life_expectancy'),
  keyed('/v1/files/{indicator_id}.parquet', 9, '', FILE),
  keyed('/v1/bundles/{provider_id}.parquet', 37, '', FILE),
  keyed(
    '/v1/verify',
    2,
    '?claim=alpha.life_expectancy,KEN,2020,62.5&claim=alpha.life_expectancy,KEN,2021,62',
  ),
  open('/v1/editions'),
  open('/v1/catalog.jsonld', '', { isDocument: true }),
  open('/v1/changes'),
  keyed('/v1/revisions', 1, '?indicator=alpha.life_expectancy'),
  keyed('/v1/receipts', 1, '?indicator=alpha.life_expectancy&country=KEN&year=2020'),
  open('/v1/log/consistency', '?from=1'),
  ...['indicators/{indicator_id}', 'providers/{provider_id}', 'editions/{edition_id}'].flatMap((subject) =>
    ['citation.bib', 'citation.json', 'datapackage.json', 'croissant.json'].map((file) =>
      open(`/v1/${subject}/${file}`, '', { isDocument: true }),
    ),
  ),
  open('/v1/almanac.duckdb', '', FILE),
  keyed('/v1/usage', 0),
  keyed('/v1/ping', 0),
];

export const FREE_ROUTES = PUBLIC_ROUTES.filter(({ key }) => key === 'optional');
export const KEYED_ROUTES = PUBLIC_ROUTES.filter(({ key }) => key === 'required');
