/** The contract of a page of the site, how its template is rendered, and how it becomes an operation that an adapter can serve. */
import nunjucks from 'nunjucks';
import { z } from 'zod';
import {
  type Content,
  defineOperation,
  free,
  type Operation,
  type QuerySchema,
} from '../api/operations/operations.ts';
import type { Edition } from '../api/snapshot/snapshot.ts';
import { TEMPLATE_FILTERS } from '../web/templates.ts';
import { ASSET_PATHS } from './assets.ts';
import { sparkline } from './charts/lines.ts';
import {
  dateText,
  figureCells,
  figureElement,
  isSaidBy,
  momentText,
  rankingRows,
  shareText,
  yearOptions,
  yearsText,
} from './figures.ts';
import { withQuery } from './lists.ts';
import { inlineMarkdown } from './markdown.ts';

/** The main navigation marks the section of a page. */
type Section = 'indicators' | 'countries' | 'compare' | 'topics' | 'pricing' | 'docs' | 'none';

export interface PageInput<Query> {
  edition: Edition;
  /** Path parameters, decoded. */
  path: Readonly<Record<string, string>>;
  query: Query;
  /** Where visitors reach the service, without a slash at its end. */
  publicUrl: string;
}

/** What a page shows: a template with its data. */
export interface Shown {
  template: string;
  /** In the browser's tab and in search results. */
  title: string;
  /** One sentence for search results and link previews. */
  description: string;
  section: Section;
  /** Path of the picture of link previews, with its query; default the one of the service. */
  picture?: string;
  /** Path under which search engines keep the page, with its query; undefined where they should not. */
  canonical?: string;
  /** A schema.org description. */
  structured?: object;
  status?: 404;
  /** May be shown in frames of other sites. */
  isEmbeddable?: boolean;
  /** Must not repeat names of the layout. */
  data: object;
}

interface PageDefinition<Query> {
  /** `/indicators/{indicator_id}` */
  path: string;
  query?: QuerySchema<Query>;
  /** False where a page also shows what changes within an edition. Default true. */
  isCacheable?: boolean;
  show(input: PageInput<Query>): Shown | Promise<Shown>;
}

const HTML = 'text/html; charset=utf-8';

export function definePage<Query>({ show, ...definition }: PageDefinition<Query>): Operation {
  return asOperation(definition, async (input) => {
    const { status = 200, isEmbeddable = false, ...shown } = await show(input);
    const html = environment.render(shown.template, { ...shown.data, page: layoutData(shown, input) });
    return { kind: 'document', json: Buffer.from(html), mediaType: HTML, page: { status, isEmbeddable } };
  });
}

/** A picture or a text file of the site. */
export interface Asset {
  bytes: Buffer;
  mediaType: string;
}

interface AssetDefinition<Query> extends Omit<PageDefinition<Query>, 'show'> {
  /** Undefined where there is nothing to show. */
  make(input: PageInput<Query>): Asset | undefined | Promise<Asset | undefined>;
}

const NOTHING: Asset = { bytes: Buffer.from('Not found\n'), mediaType: 'text/plain; charset=utf-8' };

/** @param definition of something that a page links to: a picture, a feed, a list for search engines */
export function defineAsset<Query>({ make, ...definition }: AssetDefinition<Query>): Operation {
  return asOperation(definition, async (input) => {
    const made = await make(input);
    const { bytes: json, mediaType } = made ?? NOTHING;
    return { kind: 'document', json, mediaType, page: { status: made ? 200 : 404, isEmbeddable: true } };
  });
}

type Produce<Query> = (input: PageInput<Query>) => Promise<Content>;

const NO_QUERY = z.object({});

function asOperation<Query>(
  { path, query, isCacheable = true }: Omit<PageDefinition<Query>, 'show'>,
  produce: Produce<Query>,
): Operation {
  return defineOperation<Query>({
    name: path,
    path,
    tag: 'Page',
    summary: '',
    description: '',
    needsKey: false,
    priceText: 'free',
    isCacheable,
    query: query ?? (NO_QUERY as unknown as QuerySchema<Query>),
    answer: z.string(),
    plan: ({ snapshot: edition, path: parameters, query: values, publicUrl }) =>
      free(() => produce({ edition, path: parameters, query: values, publicUrl })),
  });
}

const DEFAULT_PICTURE = '/card.png';

/** What the frame around a page needs. */
function layoutData(
  { title, description, section, picture, canonical, structured }: Omit<Shown, 'status'>,
  { edition, publicUrl }: PageInput<unknown>,
) {
  return {
    title,
    description,
    section,
    /** Absolute where the address of the service is known. */
    picture: publicUrl + (picture ?? DEFAULT_PICTURE),
    canonical: canonical === undefined ? null : publicUrl + canonical,
    address: publicUrl,
    /** JSON for a script element: no `<` ends it early. */
    structured: structured === undefined ? null : JSON.stringify(structured).replaceAll('<', '\\u003c'),
    editionId: edition.id,
    publishedAt: edition.generatedAt,
  };
}

export type LayoutData = ReturnType<typeof layoutData>;

const FOLDERS = [`${import.meta.dirname}/views`, `${import.meta.dirname}/../web/views`];

const FILTERS = {
  ...TEMPLATE_FILTERS,
  sparkline,
  dateText,
  figureElement,
  figureCells,
  inlineMarkdown,
  isSaidBy,
  momentText,
  rankingRows,
  shareText,
  withQuery,
  yearOptions,
  yearsText,
};

/** @param folders with templates beside those of the site */
export function siteEnvironment(folders: readonly string[] = []): nunjucks.Environment {
  const environment = new nunjucks.Environment(new nunjucks.FileSystemLoader([...FOLDERS, ...folders]), {
    autoescape: true,
    throwOnUndefined: true,
    trimBlocks: true,
    lstripBlocks: true,
  });
  for (const [name, filter] of Object.entries(FILTERS)) environment.addFilter(name, filter);
  environment.addGlobal('assets', ASSET_PATHS);
  return environment;
}

const environment = siteEnvironment();

/** A template without a frame, or one whose frame needs no edition. */
export const renderPlain = (template: string, data: object): string => environment.render(template, data);

/** Characters of what was sent, when it is shown again. */
const SENT_MAX = 100;

/**
 * A page about something that the edition does not list.
 * @param what in words: `indicator`; @param instead where to go on
 */
export const missingPage = (what: string, sent: string, instead: { path: string; label: string }): Shown => ({
  template: 'not-found.njk',
  title: `No such ${what}`,
  description: `There is no ${what} at this address.`,
  section: 'none',
  status: 404,
  data: {
    message: `There is no ${what} “${sent.slice(0, SENT_MAX)}” in this edition. It may have been withdrawn, or the address may be misspelt.`,
    links: [instead],
  },
});
