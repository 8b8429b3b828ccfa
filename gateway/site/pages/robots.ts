/** `/robots.txt`: what search engines may read. Account pages say nothing to them, and data calls would only cost them. */
import type { Operation } from '../../api/operations/operation.ts';
import { defineAsset } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

const KEPT_OUT = ['/account/', '/admin/', '/v1/', '/data/api/'];

export const robots = ({ baseUrl }: ServiceFacts): Operation =>
  defineAsset({
    path: '/robots.txt',
    make: () => ({
      bytes: Buffer.from(
        [
          'User-agent: *',
          ...KEPT_OUT.map((path) => `Disallow: ${path}`),
          'Allow: /v1/openapi.json',
          'Allow: /v1/changes',
          '',
          `Sitemap: ${baseUrl}/sitemap.xml`,
          '',
        ].join('\n'),
      ),
      mediaType: 'text/plain; charset=utf-8',
    }),
  });
