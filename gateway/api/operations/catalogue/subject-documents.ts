/**
 * GET /{indicators|providers|editions}/{id}/{citation.bib|citation.json|datapackage.json|croissant.json}: how to cite it, and
 * what it holds, for software that loads it. GET /catalog.jsonld: the indicators as a DCAT catalogue, which portals harvest.
 */
import { z } from 'zod';
import {
  bibtex,
  type CatalogueEntry,
  type Citation,
  type CslItem,
  croissant,
  cslItem,
  type DataSet,
  dataPackage,
  dcatCatalogue,
  JSON_LD_TYPE,
} from '../../encoders/encoders.ts';
import {
  type Content,
  defineOperation,
  free,
  type Input,
  type Operation,
  type Planned,
  type Refused,
  underAlias,
} from '../operation.ts';
import { asOf } from '../parameters/as-of.ts';
import { describeDataSet, indicatorFiles, rowFiles } from './data-sets.ts';
import { type CitedQuery, citationOf, DOCUMENT_FILES, SUBJECTS, type Subject } from './subjects.ts';

interface SubjectDocument {
  /** Last part of the path. */
  file: string;
  /** As names of operations contain it. */
  name: string;
  summary(of: string): string;
  description: string;
  mediaType: string;
  answer: z.ZodType;
  /** @param id as sent, or that of today for an indicator. */
  write(subject: Subject, input: Input<CitedQuery>, id: string): Promise<string | Refused>;
}

function defineDocument(subject: Subject, document: SubjectDocument): Operation {
  const { name, resource, parameter, described, query, errors } = subject;
  const { file, mediaType, description, answer, summary, write } = document;
  return defineOperation<CitedQuery>({
    name: `get${name}${document.name}`,
    path: `/${resource}/{${parameter}}/${file}`,
    tag: 'Catalogue',
    summary: summary(`${name === 'Provider' ? 'a' : 'an'} ${name.toLowerCase()}`),
    description,
    needsKey: false,
    priceText: 'free',
    isCacheable: true,
    pathParameters: { [parameter]: described },
    query,
    answer,
    mediaType,
    errors,
    async plan(input): Promise<Planned> {
      const asked = input.path[parameter] ?? '';
      const { id, alias } =
        resource === 'indicators' ? input.snapshot.resolve(asked) : { id: asked, alias: null };
      const written = await write(subject, input, id);
      if (typeof written !== 'string') return written;
      return underAlias(free({ kind: 'document', json: Buffer.from(written), mediaType }), alias);
    },
  });
}

const item: z.ZodType<CslItem> = z.object({
  id: z.string(),
  type: z.literal('dataset'),
  title: z.string(),
  author: z.array(z.object({ literal: z.string() })).describe('Provider and collectors'),
  issued: z
    .object({ 'date-parts': z.tuple([z.tuple([z.int(), z.int(), z.int()])]) })
    .describe('When the snapshot was published'),
  publisher: z.string(),
  version: z.string().describe('Id of the snapshot'),
  note: z.string().describe('Credit line and licence'),
  URL: z.string(),
});

const citing =
  (write: (citation: Citation) => string): SubjectDocument['write'] =>
  async (subject, input, id) => {
    const cited = await subject.cite(input, id);
    return 'kind' in cited ? cited : write(citationOf(cited, input.publicUrl));
  };

const describing =
  (write: (set: DataSet) => string): SubjectDocument['write'] =>
  async (subject, input, id) => {
    const set = await describeDataSet(subject, input, id);
    return 'kind' in set ? set : write(set);
  };

const CITES =
  'Names the provider and who collected the figures, their credit line and licence, and the snapshot.';

const CITATIONS: readonly SubjectDocument[] = [
  {
    ...DOCUMENT_FILES.bibtex,
    name: 'Bibtex',
    summary: (of) => `Citation of ${of} in BibTeX`,
    description: CITES,
    answer: z.string().describe('A BibTeX entry, UTF-8'),
    write: citing(bibtex),
  },
  {
    ...DOCUMENT_FILES.csl,
    name: 'Csl',
    summary: (of) => `Citation of ${of} in CSL-JSON`,
    description: CITES,
    answer: z.array(item),
    write: citing((cited) => JSON.stringify([cslItem(cited)])),
  },
];

const DESCRIPTIONS: readonly SubjectDocument[] = [
  {
    ...DOCUMENT_FILES.dataPackage,
    name: 'Datapackage',
    summary: (of) => `Data package of ${of} for Frictionless software`,
    description:
      'A Data Package (version 2) of the downloads, with columns, units, licences and sources. The records of the indicators are in ' +
      'the package itself; of a display-only indicator there is nothing else.',
    answer: z.looseObject({
      $schema: z.string(),
      name: z.string(),
      title: z.string(),
      version: z.string().describe('Id of the snapshot'),
      resources: z.array(z.looseObject({ name: z.string(), title: z.string() })),
    }),
    write: describing(dataPackage),
  },
  {
    ...DOCUMENT_FILES.croissant,
    name: 'Croissant',
    summary: (of) => `Description of ${of} for machine learning`,
    description:
      'Croissant 1.1 over schema.org/Dataset, in JSON-LD: licence, authors, how to cite it, and the Parquet files with their hashes ' +
      'and columns. A display-only indicator has no files.',
    answer: z.looseObject({
      '@context': z.looseObject({}),
      '@type': z.string(),
      name: z.string(),
      version: z.string().describe('Id of the snapshot'),
      distribution: z.array(z.looseObject({ contentUrl: z.string(), sha256: z.string() })).optional(),
      recordSet: z.array(z.looseObject({ name: z.string() })).optional(),
    }),
    write: describing(croissant),
  },
];

export const subjectDocuments: readonly Operation[] = [CITATIONS, DESCRIPTIONS].flatMap((documents) =>
  SUBJECTS.flatMap((subject) => documents.map((document) => defineDocument(subject, document))),
);

export const catalog = defineOperation({
  name: 'getCatalog',
  path: '/catalog.jsonld',
  tag: 'Catalogue',
  summary: 'The catalogue for data portals',
  description:
    'A DCAT 3 catalogue in JSON-LD with a data set for each indicator: title, description, provider, licence, credit line, years, ' +
    'and downloads, which cost credits. Display-only indicators have no download.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  query: z.object({ as_of: asOf().optional() }),
  answer: z.object({
    '@context': z.looseObject({}),
    '@graph': z.array(z.looseObject({ '@type': z.string() })),
  }),
  mediaType: JSON_LD_TYPE,
  errors: ['edition_not_found'],
  plan({ snapshot, publicUrl }): Planned {
    return free(async (): Promise<Content> => {
      const catalogue = await snapshot.wholeCatalogue();
      const isServed = snapshot.editions.chain.at(-1)?.edition === snapshot.id;
      const filesOf = isServed ? indicatorFiles : rowFiles;
      const entries: CatalogueEntry[] = [];
      for (const { record } of catalogue.ordered('name', 'asc'))
        entries.push({ record, files: await filesOf(snapshot, record, publicUrl) });
      const json = dcatCatalogue({
        base: publicUrl,
        edition: snapshot.id,
        published_at: snapshot.generatedAt,
        countries: snapshot.countries.map(({ record }) => record),
        entries,
      });
      return { kind: 'document', json: Buffer.from(json), mediaType: JSON_LD_TYPE };
    });
  },
});
