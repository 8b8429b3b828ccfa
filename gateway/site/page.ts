/** The contract of a page of the site, and how it becomes an operation that an adapter can serve. */
import { z } from 'zod';
import {
  type Content,
  defineOperation,
  type Operation,
  type PathParameter,
  type QuerySchema,
} from '../api/operations/operation.ts';
import type { Edition } from '../api/snapshot/editions/edition.ts';
import { type LayoutData, renderTemplate, type Section } from './templates.ts';

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
  /** Of the browser's tab and of search results. */
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
  data: object;
}

interface PageDefinition<Query> {
  /** `/indicators/{indicator_id}` */
  path: string;
  pathParameters?: Readonly<Record<string, PathParameter>>;
  query?: QuerySchema<Query>;
  /** False where a page also shows what changes within an edition. Default true. */
  isCacheable?: boolean;
  show(input: PageInput<Query>): Shown | Promise<Shown>;
}

const HTML = 'text/html; charset=utf-8';

export function definePage<Query>({ show, ...definition }: PageDefinition<Query>): Operation {
  return asOperation(definition, async (input) => {
    const { status = 200, isEmbeddable = false, ...shown } = await show(input);
    const html = renderTemplate(shown.template, layoutData(shown, input), shown.data);
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
  { path, pathParameters = {}, query, isCacheable = true }: Omit<PageDefinition<Query>, 'show'>,
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
    pathParameters,
    query: query ?? (NO_QUERY as unknown as QuerySchema<Query>),
    answer: z.string(),
    errors: [],
    plan: ({ snapshot: edition, path: parameters, query: values, publicUrl }) => ({
      kind: 'plan',
      price: 0,
      rows: 0,
      produce: () => produce({ edition, path: parameters, query: values, publicUrl }),
    }),
  });
}

const DEFAULT_PICTURE = '/card.png';

function layoutData(
  { title, description, section, picture, canonical, structured }: Omit<Shown, 'status'>,
  { edition, publicUrl }: PageInput<unknown>,
): LayoutData {
  return {
    title,
    description,
    section,
    picture: publicUrl + (picture ?? DEFAULT_PICTURE),
    canonical: canonical === undefined ? null : publicUrl + canonical,
    address: publicUrl,
    structured: structured === undefined ? null : JSON.stringify(structured).replaceAll('<', '\\u003c'),
    editionId: edition.id,
    publishedAt: edition.generatedAt,
  };
}
