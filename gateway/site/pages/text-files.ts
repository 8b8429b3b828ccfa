/**
 * What programs read of the site: `/robots.txt`; `/llms.txt`, in the form of llmstxt.org; `/sitemap.xml` and the lists that it
 * names. A list holds one kind of page, or a part of it, so that none grows with the number of indicators.
 */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { escapedXml } from '../../api/encoders/encoders.ts';
import { MODEL_INSTRUCTIONS } from '../../api/mcp/mcp.ts';
import type { Operation } from '../../api/operations/operations.ts';
import type { Edition } from '../../api/snapshot/snapshot.ts';
import { type Asset, defineAsset } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

/** @param pages all of the site: those without parameters are in a list of their own */
export const textFiles = (facts: ServiceFacts, pages: readonly Operation[]): Operation[] => [
  robots(facts),
  llms(facts),
  ...sitemaps(facts, pages),
];

const textFile = (path: string, lines: readonly string[]): Operation =>
  defineAsset({
    path,
    make: () => ({ bytes: Buffer.from(`${lines.join('\n')}\n`), mediaType: 'text/plain; charset=utf-8' }),
  });

/** Account pages say nothing to search engines, and data calls and feed links would only cost them. */
const KEPT_OUT = ['/account/', '/admin/', '/v1/', '/data/api/', '/feed/'];

const robots = ({ baseUrl }: ServiceFacts): Operation =>
  textFile('/robots.txt', [
    'User-agent: *',
    ...KEPT_OUT.map((path) => `Disallow: ${path}`),
    'Allow: /v1/openapi.json',
    'Allow: /v1/changes',
    '',
    `Sitemap: ${baseUrl}/sitemap.xml`,
  ]);

/** What is worth reading for models. */
const LINKS = [
  ['/docs', 'Guides', 'Quick start, keys, credits, formats, vintages, errors, limits'],
  ['/docs/reference', 'Reference', 'every call of the HTTP API'],
  ['/openapi.json', 'OpenAPI', 'the same for programs'],
  ['/indicators', 'Indicators', 'the catalogue with search'],
  ['/pricing', 'Pricing', 'what costs what'],
] as const;

/** Calls for models without tools. */
const CALLS = [
  ['/v1/search?q=life+expectancy&limit=5', 'finds series by everyday words, free'],
  ['/v1/indicators/{id}', 'describes one, free'],
  ['/v1/data?indicator={id}&countries=KEN,PER&latest=1', 'newest figures; a key, 1 credit a row'],
  ['/v1/rankings/{id}', 'ranking of a year; a key, 1 credit'],
] as const;

/** What a language model needs in order to answer from the service. */
const llms = ({ baseUrl }: ServiceFacts): Operation =>
  textFile('/llms.txt', [
    '# Almanac',
    '',
    '> Comparative statistics about countries from public providers, each figure with unit, year, source, licence and proof.',
    '',
    'How to answer from it:',
    '',
    ...MODEL_INSTRUCTIONS.map((sentence) => `- ${sentence}`),
    '',
    '## Tools',
    '',
    `The Model Context Protocol is served at ${baseUrl}/mcp (streamable HTTP). Finding and describing needs no key; figures need a sign-in, to which hosts lead, or the header \`Authorization: Bearer <API key>\`.`,
    '',
    '## Calls without tools',
    '',
    ...CALLS.map(([path, text]) => `- \`GET ${baseUrl}${path}\`: ${text}`),
    '',
    '## Documentation',
    '',
    ...LINKS.map(([path, name, text]) => `- [${name}](${baseUrl}${path}): ${text}`),
  ]);

const PART = 1_000;
const NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';

/** Pages whose paths are a prefix and a label; labels need no encoding. */
interface Kind {
  prefix: string;
  labels(edition: Edition): readonly string[] | Promise<readonly string[]>;
}

/** By the name of their lists. */
const listKinds = (pages: readonly Operation[]): ReadonlyMap<string, Kind> => {
  const paths = pages.map(({ path }) => path).filter((path) => !/\{|\.[a-z]+$/.test(path));
  return new Map<string, Kind>([
    ['pages', { prefix: '', labels: () => paths }],
    [
      'indicators',
      {
        prefix: '/indicators/',
        labels: async (edition) => [...(await edition.wholeCatalogue()).indicators.keys()],
      },
    ],
    [
      'countries',
      { prefix: '/countries/', labels: ({ countries }) => countries.map(({ record }) => record.iso3) },
    ],
    ['topics', { prefix: '/topics/', labels: (edition) => distinct(edition, ({ topic }) => topic) }],
    [
      'providers',
      { prefix: '/providers/', labels: (edition) => distinct(edition, ({ provider }) => provider.id) },
    ],
  ]);
};

async function distinct(edition: Edition, labelOf: (record: IndicatorRecord) => string): Promise<string[]> {
  const { indicators } = await edition.wholeCatalogue();
  return [...new Set([...indicators.values()].map(({ record }) => labelOf(record)))];
}

function sitemaps({ baseUrl }: ServiceFacts, pages: readonly Operation[]): Operation[] {
  const kinds = listKinds(pages);
  const location = (path: string): string => `<loc>${escapedXml(baseUrl + path)}</loc>`;
  const index = defineAsset({
    path: '/sitemap.xml',
    async make({ edition }) {
      const modified = `<lastmod>${edition.generatedAt.slice(0, 10)}</lastmod>`;
      const entries: string[] = [];
      for (const [name, { labels }] of kinds)
        for (let part = 1; (part - 1) * PART < (await labels(edition)).length; part += 1)
          entries.push(`<sitemap>${location(`/sitemaps/${name}-${part}.xml`)}${modified}</sitemap>`);
      return xml('sitemapindex', entries);
    },
  });
  const list = defineAsset({
    path: '/sitemaps/{list}',
    async make({ edition, path }) {
      const [, name = '', part] = /^([a-z]+)-([1-9]\d{0,3})\.xml$/.exec(path.list ?? '') ?? [];
      const { prefix, labels } = kinds.get(name) ?? { prefix: '', labels: () => [] };
      const start = (Number(part) - 1) * PART;
      const shown = (await labels(edition)).slice(start, start + PART);
      if (shown.length === 0) return undefined;
      return xml(
        'urlset',
        shown.map((label) => `<url>${location(prefix + label)}</url>`),
      );
    },
  });
  return [index, list];
}

function xml(root: string, entries: readonly string[]): Asset {
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="${NAMESPACE}">\n${entries.join('\n')}\n</${root}>\n`;
  return { bytes: Buffer.from(text), mediaType: 'application/xml; charset=utf-8' };
}
