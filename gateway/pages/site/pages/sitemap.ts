/**
 * `/sitemap.xml` and the lists that it names, for search engines. A list holds one kind of page, or a part of it, so that
 * none grows with the number of indicators.
 */

import { escapedXml } from '../../../encoders/xml.ts';
import type { Operation } from '../../../operations/operation.ts';
import type { CatalogueItem } from '../../../snapshot/catalogue.ts';
import type { Edition } from '../../../snapshot/edition.ts';
import { type Asset, defineAsset, type PageInput } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

const PART = 1_000;
const NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';

interface Kind {
  name: string;
  paths(edition: Edition): Iterable<string> | Promise<Iterable<string>>;
}

/** @param pages all of the site: those without parameters are listed, the others decide which kinds there are. */
export function sitemaps({ baseUrl }: ServiceFacts, pages: readonly Operation[]): Operation[] {
  const kinds = kindsOf(pages);
  const addressOf = (path: string): string => escapedXml(baseUrl + path);
  const index = defineAsset({
    path: '/sitemap.xml',
    async make({ edition }) {
      const names = await Promise.all(
        kinds.map(async ({ name, paths }) => {
          const parts = Math.ceil([...(await paths(edition))].length / PART);
          return Array.from({ length: parts }, (_none, part) => `${name}-${part + 1}`);
        }),
      );
      const day = edition.generatedAt.slice(0, 10);
      const entries = names
        .flat()
        .map(
          (name) =>
            `<sitemap><loc>${addressOf(`/sitemaps/${name}.xml`)}</loc><lastmod>${day}</lastmod></sitemap>`,
        );
      return xml('sitemapindex', entries);
    },
  });
  const list = defineAsset({
    path: '/sitemaps/{list}',
    pathParameters: { list: { description: 'Kind of page and number of the part' } },
    async make({ edition, path }: PageInput<unknown>) {
      const [, name, part] = /^([a-z]+)-([1-9]\d{0,3})\.xml$/.exec(path.list ?? '') ?? [];
      const kind = kinds.find((one) => one.name === name);
      if (kind === undefined) return undefined;
      const start = (Number(part) - 1) * PART;
      const paths = [...(await kind.paths(edition))].slice(start, start + PART);
      if (paths.length === 0) return undefined;
      return xml(
        'urlset',
        paths.map((one) => `<url><loc>${addressOf(one)}</loc></url>`),
      );
    },
  });
  return [index, list];
}

function kindsOf(pages: readonly Operation[]): Kind[] {
  const plain = pages
    .map(({ path }) => path)
    .filter((path) => !path.includes('{') && !HAS_EXTENSION.test(path));
  const kinds: Kind[] = [
    { name: 'pages', paths: () => plain },
    { name: 'indicators', paths: indicatorPaths },
    {
      name: 'countries',
      paths: ({ countries }) => countries.map(({ record }) => `/countries/${record.iso3}`),
    },
    { name: 'topics', paths: (edition) => labels(edition, 'topics', ({ record }) => record.topic) },
    {
      name: 'providers',
      paths: (edition) => labels(edition, 'providers', ({ record }) => record.provider.id),
    },
  ];
  const hasPages = ({ name }: Kind): boolean => pages.some(({ path }) => path.startsWith(`/${name}/{`));
  return kinds.filter((kind) => kind.name === 'pages' || hasPages(kind));
}

/** Files, which are no pages. */
const HAS_EXTENSION = /\.[a-z]+$/;

async function indicatorPaths(edition: Edition): Promise<Iterable<string>> {
  const { indicators } = await edition.wholeCatalogue();
  return [...indicators.keys()].map((id) => `/indicators/${encodeURIComponent(id)}`);
}

async function labels(
  edition: Edition,
  kind: string,
  labelOf: (item: CatalogueItem) => string,
): Promise<Iterable<string>> {
  const { indicators } = await edition.wholeCatalogue();
  return new Set([...indicators.values()].map((item) => `/${kind}/${encodeURIComponent(labelOf(item))}`));
}

function xml(root: string, entries: readonly string[]): Asset {
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="${NAMESPACE}">\n${entries.join('\n')}\n</${root}>\n`;
  return { bytes: Buffer.from(text), mediaType: 'application/xml; charset=utf-8' };
}
