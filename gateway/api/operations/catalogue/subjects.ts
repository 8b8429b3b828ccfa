/** What can be cited, an indicator, a provider or an edition, and where the documents about it are. */
import { z } from 'zod';
import type { IndicatorSource, ProviderCredit } from '../../../../data/schema/records.ts';
import { SNAPSHOT_ID } from '../../../../data/schema/snapshot.ts';
import { type ErrorCode, truncateInput } from '../../core/errors.ts';
import {
  BIBTEX_TYPE,
  type Citation,
  CROISSANT_TYPE,
  CSL_TYPE,
  DATAPACKAGE_TYPE,
  JSON_LD_TYPE,
} from '../../encoders/encoders.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import {
  type AsOf,
  type Content,
  type Description,
  type Input,
  idInPath,
  indicatorNotFound,
  type PathParameter,
  type Refused,
  refused,
} from '../operation.ts';
import { asOf } from '../parameters/as-of.ts';
import type { QuerySchema } from '../parameters/parameters.ts';

export interface CitedQuery {
  as_of?: AsOf | undefined;
}

/** A citation, where the address lacks the service's own. */
export interface Cited extends Omit<Citation, 'url'> {
  path: string;
}

export const citationOf = ({ path, ...citation }: Cited, publicUrl: string): Citation => ({
  ...citation,
  url: publicUrl + path,
});

export interface Subject {
  /** As names of operations contain it. */
  name: 'Indicator' | 'Provider' | 'Edition';
  resource: 'indicators' | 'providers' | 'editions';
  parameter: string;
  described: PathParameter;
  query: QuerySchema<CitedQuery>;
  errors: readonly ErrorCode[];
  /** @param id as sent, or that of today for an indicator. */
  cite(input: Input<CitedQuery>, id: string): Promise<Cited | Refused>;
}

const query = z.object({ as_of: asOf().optional() });

export const SUBJECTS: readonly Subject[] = [
  {
    name: 'Indicator',
    resource: 'indicators',
    parameter: 'indicator_id',
    described: idInPath('Indicator'),
    query,
    errors: ['indicator_not_found', 'edition_not_found'],
    cite: ({ snapshot }, id) => citeIndicator(snapshot, id),
  },
  {
    name: 'Provider',
    resource: 'providers',
    parameter: 'provider_id',
    described: idInPath('Provider'),
    query,
    errors: ['not_found', 'edition_not_found'],
    cite: citeProvider,
  },
  {
    name: 'Edition',
    resource: 'editions',
    parameter: 'edition_id',
    described: { description: 'Id of a snapshot', schema: { pattern: SNAPSHOT_ID.source } },
    query: z.object({}),
    errors: ['edition_not_found'],
    cite: citeEdition,
  },
];

/** @param id of today. */
export async function citeIndicator(snapshot: Edition, id: string): Promise<Cited | Refused> {
  const entry = await snapshot.indicator(id);
  if (entry === undefined) return indicatorNotFound(id, snapshot);
  const { name, provider } = entry.record;
  const lists = await snapshot.additions(['sources'], [id]);
  const sources: IndicatorSource[] = JSON.parse(lists.json('sources', id));
  const authors = new Set([provider.name, ...sources.map((source) => source.name)]);
  const note = creditLine(entry.record);
  const path = `/indicators/${id}/editions/${snapshot.id}`;
  return { ...ofEdition(snapshot, id), path, title: name, authors: [...authors], note };
}

async function citeProvider({ snapshot }: Input<CitedQuery>, id: string): Promise<Cited | Refused> {
  const catalogue = await snapshot.wholeCatalogue();
  const [first] = catalogue.listed('name', 'asc', { provider: id });
  if (first === undefined) return refused('not_found', `No provider has the id '${truncateInput(id)}'.`);
  const { provider } = first.record;
  const title = `Indicators of ${provider.name}`;
  const path = `/editions/${snapshot.id}?provider=${id}`;
  return { ...ofEdition(snapshot, id), path, title, authors: [provider.name], note: creditLine(provider) };
}

async function citeEdition({ snapshot }: Input<CitedQuery>, id: string): Promise<Cited | Refused> {
  const found = snapshot.editions.find({ id });
  if (found === undefined)
    return refused('edition_not_found', `No snapshot has the id '${truncateInput(id)}'.`);
  const { edition, published_at, counts } = found;
  const note =
    `${counts.indicators} indicators of ${counts.providers} providers for ${counts.countries} countries, ` +
    'each under the licence of its provider';
  const title = 'Almanac: comparative country statistics';
  const address = { path: `/editions/${edition}`, key: `almanac-${edition}` };
  return { ...address, version: edition, published_at, title, authors: ['Almanac'], note };
}

const creditLine = ({ attribution, licence, licence_url }: Omit<ProviderCredit, 'id' | 'name'>): string =>
  `${attribution}; licence: ${licence}${licence_url === null ? '' : ` (${licence_url})`}`;

/** What is cited is cited as the edition has it. */
const ofEdition = ({ id: version, generatedAt }: Edition, id: string) => ({
  key: `${id}-${version}`,
  version,
  published_at: generatedAt,
});

/** The documents about a subject, beside its own address. */
export const DOCUMENT_FILES = {
  bibtex: { file: 'citation.bib', mediaType: BIBTEX_TYPE },
  csl: { file: 'citation.json', mediaType: CSL_TYPE },
  dataPackage: { file: 'datapackage.json', mediaType: DATAPACKAGE_TYPE },
  croissant: { file: 'croissant.json', mediaType: CROISSANT_TYPE },
} as const;

/** The one about the whole catalogue. */
const CATALOG = { file: 'catalog.jsonld', mediaType: JSON_LD_TYPE } as const;

/** @param folder path under the version prefix. @param asOf as sent. */
const linkTo = (
  { file, mediaType }: { file: string; mediaType: string },
  folder: string,
  asOf: string | undefined,
): Description => ({
  path: `/v1${folder}/${file}${asOf === undefined ? '' : `?as_of=${encodeURIComponent(asOf)}`}`,
  mediaType,
});

/** @param resource path under the version prefix. @param asOf as sent. */
export const describedBy = (resource: string, asOf: string | undefined): Description[] => [
  ...Object.values(DOCUMENT_FILES).map((file) => linkTo(file, resource, asOf)),
  linkTo(CATALOG, '', asOf),
];

/** A list of what the catalogue holds. @param asOf as sent. */
export const ofCatalogue = (content: Content, asOf?: string): Content => ({
  ...content,
  describedBy: [linkTo(CATALOG, '', asOf)],
});
