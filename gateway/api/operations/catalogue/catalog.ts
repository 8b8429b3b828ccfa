/** GET /catalog.jsonld: the indicators as a DCAT catalogue, which data portals harvest. */
import { z } from 'zod';
import { type CatalogueEntry, dcatCatalogue, JSON_LD_TYPE } from '../../encoders/encoders.ts';
import { type Content, defineOperation, free, type Planned } from '../operation.ts';
import { asOf } from '../parameters/as-of.ts';
import { indicatorFiles, rowFiles } from './data-sets.ts';

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
