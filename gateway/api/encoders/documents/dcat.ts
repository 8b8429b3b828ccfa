/**
 * A catalogue of the indicators in DCAT 3, as JSON-LD: what data portals harvest. It has what DCAT-AP 3 asks for.
 */
import type { CountryRecord, IndicatorRecord, ProviderCredit } from '../../../../data/schema/records.ts';
import { type DataFile, isoYear, type Licence, licencesOf, PUBLISHER, yearsOf } from './data-set.ts';

export const JSON_LD_TYPE = 'application/ld+json; charset=utf-8';

export interface CatalogueEntry {
  record: IndicatorRecord;
  /** None of an indicator for display only. */
  files: readonly DataFile[];
}

export interface DescribedCatalogue {
  /** Before paths. */
  base: string;
  edition: string;
  published_at: string;
  countries: readonly CountryRecord[];
  entries: readonly CatalogueEntry[];
}

const typed = (id: string, type: string) => ({ '@id': id, '@type': type });
const reference = (id: string) => typed(id, '@id');

const CONTEXT = {
  dcat: 'http://www.w3.org/ns/dcat#',
  dct: 'http://purl.org/dc/terms/',
  foaf: 'http://xmlns.com/foaf/0.1/',
  rdfs: 'http://www.w3.org/2000/01/rdf-schema#',
  skos: 'http://www.w3.org/2004/02/skos/core#',
  spdx: 'http://spdx.org/rdf/terms#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
  title: 'dct:title',
  description: 'dct:description',
  identifier: 'dct:identifier',
  keyword: 'dcat:keyword',
  version: 'dcat:version',
  name: 'foaf:name',
  label: 'rdfs:label',
  prefLabel: 'skos:prefLabel',
  notation: 'skos:notation',
  modified: typed('dct:modified', 'xsd:dateTime'),
  publisher: reference('dct:publisher'),
  creator: reference('dct:creator'),
  license: reference('dct:license'),
  rights: 'dct:rights',
  temporal: 'dct:temporal',
  startDate: typed('dcat:startDate', 'xsd:gYear'),
  endDate: typed('dcat:endDate', 'xsd:gYear'),
  spatial: reference('dct:spatial'),
  hasPart: reference('dct:hasPart'),
  dataset: 'dcat:dataset',
  service: 'dcat:service',
  distribution: 'dcat:distribution',
  landingPage: reference('dcat:landingPage'),
  endpointURL: reference('dcat:endpointURL'),
  endpointDescription: reference('dcat:endpointDescription'),
  accessURL: reference('dcat:accessURL'),
  downloadURL: reference('dcat:downloadURL'),
  mediaType: reference('dcat:mediaType'),
  byteSize: typed('dcat:byteSize', 'xsd:nonNegativeInteger'),
  checksum: 'spdx:checksum',
  algorithm: reference('spdx:algorithm'),
  checksumValue: typed('spdx:checksumValue', 'xsd:hexBinary'),
};

const MEDIA_TYPES = 'https://www.iana.org/assignments/media-types/';
const SHA256 = 'http://spdx.org/rdf/terms#checksumAlgorithm_sha256';

export function dcatCatalogue(catalogue: DescribedCatalogue): string {
  const { base, edition, published_at, countries, entries } = catalogue;
  const records = entries.map(({ record }) => record);
  const licences = new Map(licencesOf(records).map((licence, at) => [licenceKey(licence), { licence, at }]));
  const providers = new Map(records.map(({ provider }) => [provider.id, provider]));
  const mediaTypes = new Set(
    entries.flatMap(({ files }) => files.map(({ mediaType }) => mediaTypeId(mediaType))),
  );
  const document = base + DOCUMENT;
  const names: Names = {
    base,
    document,
    published_at,
    licence: (licence) => {
      const known = licences.get(licenceKey(licence));
      return licence.licence_url ?? `${document}#licence-${known?.at}`;
    },
  };
  return JSON.stringify({
    '@context': CONTEXT,
    '@graph': [
      {
        '@id': document,
        '@type': 'dcat:Catalog',
        title: 'Almanac: comparative country statistics',
        description: `${entries.length} indicators of ${providers.size} providers for ${countries.length} countries.`,
        publisher: `${document}#publisher`,
        modified: published_at,
        version: edition,
        temporal: period(records),
        spatial: `${document}#countries`,
        service: {
          '@id': `${base}/v1`,
          '@type': 'dcat:DataService',
          title: 'Almanac API',
          endpointURL: `${base}/v1`,
          endpointDescription: `${base}/v1/openapi.json`,
        },
        dataset: entries.map((entry) => dataset(entry, names)),
      },
      { '@id': `${document}#publisher`, '@type': 'foaf:Agent', name: PUBLISHER },
      ...[...providers.values()].map((provider) => agent(provider, document)),
      ...[...licences.values()].map(({ licence }) => ({
        '@id': names.licence(licence),
        '@type': 'dct:LicenseDocument',
        title: licence.licence,
      })),
      ...[...mediaTypes].map((id) => ({ '@id': id, '@type': 'dct:MediaType' })),
      { '@id': SHA256, '@type': 'spdx:ChecksumAlgorithm' },
      location(countries, document),
    ],
  });
}

const DOCUMENT = '/v1/catalog.jsonld';

/** What datasets refer to. */
interface Names {
  base: string;
  /** Address of the catalogue. */
  document: string;
  published_at: string;
  licence(licence: Licence): string;
}

const licenceKey = ({ licence, licence_url }: Licence): string => licence_url ?? licence;

const agentId = (id: string, document: string): string => `${document}#provider-${id}`;

const agent = ({ id, name }: ProviderCredit, document: string): object => ({
  '@id': agentId(id, document),
  '@type': 'foaf:Agent',
  name,
});

function dataset({ record, files }: CatalogueEntry, names: Names): object {
  const { id, name, description, topic, unit, licence, licence_url, attribution, provider } = record;
  const { base, document, published_at } = names;
  const license = names.licence({ licence, licence_url });
  return {
    '@id': `${base}/v1/indicators/${id}`,
    '@type': 'dcat:Dataset',
    identifier: id,
    title: name,
    description: [description ?? name, ...(unit === null ? [] : [`Unit: ${unit}.`])].join('\n'),
    keyword: topic,
    creator: agentId(provider.id, document),
    publisher: `${document}#publisher`,
    license,
    rights: { '@type': 'dct:RightsStatement', label: attribution },
    modified: published_at,
    temporal: period([record]),
    spatial: `${document}#countries`,
    ...(files.length > 0 && { distribution: files.map((file) => distribution(file, license)) }),
  };
}

const distribution = ({ title, url, mediaType, content }: DataFile, license: string): object => ({
  '@type': 'dcat:Distribution',
  title,
  accessURL: url,
  downloadURL: url,
  mediaType: mediaTypeId(mediaType),
  license,
  ...(content && {
    byteSize: String(content.bytes),
    checksum: { '@type': 'spdx:Checksum', algorithm: SHA256, checksumValue: content.sha256 },
  }),
});

const mediaTypeId = (mediaType: string): string => MEDIA_TYPES + mediaType.split(';', 1)[0];

/** Absent without figures. */
function period(records: readonly IndicatorRecord[]): object | undefined {
  const years = yearsOf(records);
  if (years === null) return undefined;
  return { '@type': 'dct:PeriodOfTime', startDate: isoYear(years.first), endDate: isoYear(years.last) };
}

/** All datasets refer to it: which countries one holds would multiply the length. */
const location = (countries: readonly CountryRecord[], document: string): object => ({
  '@id': `${document}#countries`,
  '@type': 'dct:Location',
  prefLabel: 'The countries of the catalogue',
  hasPart: countries.map(({ iso3 }) => `http://publications.europa.eu/resource/authority/country/${iso3}`),
});
