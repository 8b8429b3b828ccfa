/** Resources: what the service holds, under addresses that a host may keep and attach. */
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import { ERRORS } from '../core/errors.ts';
import { groups, indicator, indicators, type Operation, receipts, topics } from '../operations/operations.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { carryOut, errorText, type RequestContext, readValues, textOf } from './calls.ts';

const MIME_TYPE = 'application/json';

/** Indicators of a topic that a resource lists: more are found by find_indicators. */
const TOPIC_MAX = 20;

interface Kind {
  name: string;
  title: string;
  uriTemplate: string;
  description: string;
  operation: Operation;
  route: string;
  /** Path parameters and others of the operation, from the parts of the address. */
  ask: (parts: readonly string[]) => { path?: Record<string, string>; query?: Record<string, unknown> };
}

const KINDS: readonly Kind[] = [
  {
    name: 'indicator',
    title: 'An indicator',
    uriTemplate: 'almanac://indicators/{indicator}',
    description: 'Definition, unit, coverage, source, licence and related series. Free.',
    operation: indicator,
    route: 'mcp:indicator',
    ask: ([id = '']) => ({ path: { indicator_id: id } }),
  },
  {
    name: 'topic',
    title: 'A topic',
    uriTemplate: 'almanac://topics/{topic}',
    description: `The ${TOPIC_MAX} widest indicators of a topic. Free.`,
    operation: indicators,
    route: 'mcp:topic',
    ask: ([topic = '']) => ({ query: { topic, sort: 'coverage', limit: TOPIC_MAX } }),
  },
  {
    name: 'receipt',
    title: 'Receipt of a figure',
    uriTemplate: 'almanac://receipts/{indicator}/{iso3}/{year}',
    description:
      'The signed proof that a figure was published, which can be verified offline. Costs 1 credit.',
    operation: receipts,
    route: 'mcp:receipt',
    ask: ([indicator = '', country = '', year = '']) => ({ query: { indicator, country, year } }),
  },
];

const GROUPS: Kind = {
  name: 'groups',
  title: 'Groups of countries',
  uriTemplate: 'almanac://groups',
  description:
    'Unions, organisations, regions and income groups that tools take as places, with members, source and date. Free.',
  operation: groups,
  route: 'mcp:groups',
  ask: () => ({}),
};

export const RESOURCE_TEMPLATES = JSON.stringify(
  KINDS.map(({ name, title, uriTemplate, description }) => ({
    name,
    title,
    uriTemplate,
    description,
    mimeType: MIME_TYPE,
  })),
);

interface Topic {
  slug: string;
  name: string;
  description: string;
}

/** By what they are read from. */
const resourceLists = new WeakMap<Snapshot, string>();

/** The topics, each as a resource, and the groups of countries: indicators and receipts are too many to list. JSON text. */
export async function listResources(context: RequestContext): Promise<string> {
  const outcome = await carryOut(
    { operation: topics, route: 'mcp:topics', reading: readValues(topics, {}) },
    context,
    async (content, snapshot) => {
      const list = resourceLists.get(snapshot) ?? resourceList(await textOf(content, snapshot));
      resourceLists.set(snapshot, list);
      return list;
    },
  );
  if ('error' in outcome) throw new Error(errorText(outcome.error));
  return outcome.made;
}

function resourceList(topicList: string): string {
  const { data }: { data: Topic[] } = JSON.parse(topicList);
  const listed = data.map(({ slug, name, description }) => ({
    uri: `almanac://topics/${slug}`,
    name: slug,
    title: name,
    description,
    mimeType: MIME_TYPE,
  }));
  const { uriTemplate: uri, name, title, description } = GROUPS;
  return JSON.stringify([...listed, { uri, name, title, description, mimeType: MIME_TYPE }]);
}

/** @throws {ResourceNotFoundError} for an address under which there is nothing */
export async function readResource(uri: string, context: RequestContext) {
  for (const { uriTemplate, operation, route, ask } of [...KINDS, GROUPS]) {
    const pattern = uriTemplate.replaceAll(/\{\w+\}/g, '([^/]+)');
    const parts = new RegExp(`^${pattern}$`).exec(uri)?.slice(1).map(decode);
    if (parts === undefined) continue;
    const { path = {}, query = {} } = ask(parts);
    const outcome = await carryOut(
      { operation, route, path, reading: readValues(operation, query) },
      context,
      textOf,
    );
    if ('made' in outcome) return { contents: [{ uri, mimeType: MIME_TYPE, text: outcome.made }] };
    const { error } = outcome;
    const isMissing = error.code === 'invalid_arguments' || ERRORS[error.code].status === 404;
    if (isMissing) throw new ResourceNotFoundError(uri, errorText(error));
    throw new Error(errorText(error));
  }
  throw new ResourceNotFoundError(uri);
}

/** An address that is not valid percent-encoding names nothing. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
