/** `/status`: what is served, since when, and when each provider was last loaded. */
import type { FreshnessRecord } from '../../../../data/schema/records.ts';
import { ROUTE_FILES } from '../../../../data/schema/snapshot.ts';
import type { Operation } from '../../../operations/operation.ts';
import { definePage } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

export const status = (facts: ServiceFacts): Operation =>
  definePage({
    path: '/status',
    async show({ edition }) {
      const { editions, generatedAt, id, countries } = edition;
      const body = await editions.servedBody(ROUTE_FILES.freshness);
      const { data: freshness } = JSON.parse(body.toString()) as { data: FreshnessRecord[] };
      const { indicators } = await edition.wholeCatalogue();
      const served = new Set([...indicators.values()].map(({ record }) => record.provider.id));
      const entry = editions.chain.find(({ edition: published }) => published === id);
      return {
        template: 'status.njk',
        title: 'Status',
        description: 'What this service serves today, since when, and when each provider was last loaded.',
        section: 'none',
        canonical: '/status',
        data: {
          facts,
          providers: freshness.map((each) => ({ ...each, isServed: served.has(each.provider_id) })),
          served: {
            id,
            publishedAt: generatedAt,
            indicators: indicators.size,
            countries: countries.length,
            observations: entry?.counts.observations ?? null,
            editions: editions.chain.length,
            firstAt: editions.chain[0]?.published_at ?? generatedAt,
          },
        },
      };
    },
  });
