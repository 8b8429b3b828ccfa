/** The machine-readable description itself. That every answer agrees with it is checked on every request of the tests. */
import { afterAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../gateway/api/core/errors.ts';
import { FORMATS } from '../../gateway/api/encoders/encoders.ts';
import { buildOpenApi, errorsOf } from '../../gateway/api/http/openapi/openapi.ts';
import { isPriced } from '../../gateway/api/operations/operation.ts';
import { OPERATIONS } from '../../gateway/api/operations/operations.ts';
import { tellStory } from './edition-story.ts';
import { examplesRefused } from './openapi-check.ts';
import { PUBLIC_ROUTES } from './public-routes.ts';
import { PUBLIC_URL, useService } from './service.ts';

interface Shown {
  schema?: { format?: string };
  example?: unknown;
}

interface Parameter {
  name: string;
  in: string;
  example?: string | number | string[];
  required: boolean;
  description?: string;
}
interface Operation {
  operationId: string;
  summary: string;
  description: string;
  security: object[];
  parameters: Parameter[];
  responses: Record<string, { description: string; headers?: object; content?: Record<string, Shown> }>;
}
interface Description {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
}
const document = buildOpenApi({}, undefined, PUBLIC_URL) as unknown as Description;

/** Without what depends on the snapshot. */
const withoutExamples = (json: unknown): unknown =>
  JSON.parse(JSON.stringify(json, (name, value) => (name === 'example' ? undefined : value)));

const service = await useService();
const story = await tellStory();
afterAll(() => story.world.remove());
/** Serves a snapshot that revised another. */
const revised = await useService({ snapshots: story.world.settings.SNAPSHOT_DIR });

/** Methods by path of feed links, which are no operations. */
const FEEDS: Record<string, string[]> = {
  '/v1/feeds': ['get', 'post'],
  '/v1/feeds/{feed_id}': ['delete'],
  '/feed/{file}': ['get', 'head'],
};
const TEMPLATES = [...PUBLIC_ROUTES.map(({ template }) => template), ...Object.keys(FEEDS)];
const ofFeeds = ['createFeed', 'fetchFeed', 'listFeeds', 'revokeFeed'];

test('OpenAPI 3.1, version 1.0, the routes of the interface under /data/api/v1: GET, files with HEAD, feed links', () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(document.info.version).toBe('1.0');
  const templates = TEMPLATES.map((template) => template.replace(/^\/v1/, '/data/api/v1'));
  expect(Object.keys(document.paths).toSorted()).toEqual(templates.toSorted());
  for (const [path, methods] of Object.entries(document.paths)) {
    const usual = /\.(parquet|duckdb)$/.test(path) ? ['get', 'head'] : ['get'];
    expect(Object.keys(methods)).toEqual(FEEDS[path.replace('/data/api', '')] ?? usual);
  }
});

test('/v1/openapi.json lists the same routes under /v1', async () => {
  const { paths } = (await service.get('/v1/openapi.json')).json as Description;
  expect(Object.keys(paths).toSorted()).toEqual(TEMPLATES.toSorted());
  const own = JSON.stringify(withoutExamples(document.paths)).replaceAll('/data/api/v1/', '/v1/');
  expect(JSON.stringify(withoutExamples(paths))).toBe(own);
});

describe.each(FORMATS)('/v1/openapi.json?format=%s', (format) => {
  test('describes the operations that answer in it, each success with one media type', async () => {
    const answer = await service.get(`/v1/openapi.json?format=${format}`);
    expect(answer.status).toBe(200);
    const { paths } = answer.json as Description;
    const listed = Object.values(paths).flatMap((methods) => Object.values(methods));
    const answering = OPERATIONS.filter(({ formats = ['json'] }) => formats.includes(format));
    expect(listed.map(({ operationId }) => operationId).toSorted()).toEqual(
      [...answering.map(({ name }) => name), ...(format === 'json' ? ofFeeds : [])].toSorted(),
    );
    for (const { responses, parameters } of listed) {
      expect(Object.keys(responses['200']?.content ?? {})).toHaveLength(1);
      const asked = parameters.find(({ name }) => name === 'format');
      expect(asked?.required ?? false).toBe(format !== 'json');
      if (format !== 'json') expect(parameters.map(({ name }) => name)).not.toContain('dry_run');
    }
  });
});

test('no example is refused by its own schema', async () => {
  for (const one of [service, revised])
    expect(examplesRefused((await one.get('/v1/openapi.json')).json)).toEqual([]);
});

/** What the interface's tables list. */
const PARAMETERS: Record<string, string[]> = {
  listCountries: ['region', 'income_group', 'format'],
  getCountry: ['iso3', 'featured', 'topic', 'as_of', 'format'],
  listIndicators: [
    ...['q', 'topic', 'provider', 'featured', 'projections', 'sort', 'dir', 'limit', 'offset'],
    ...['include', 'as_of', 'format'],
  ],
  getIndicator: ['indicator_id', 'include', 'as_of'],
  search: ['q', 'limit', 'format'],
  listTopics: ['format'],
  listFreshness: ['format'],
  listCoverage: ['format'],
  listGroups: ['format'],
  getRanking: ['indicator', 'transform', 'year', 'format', 'as_of'],
  getData: [
    ...['indicator', 'indicators', 'countries', 'from', 'to', 'years', 'fields', 'layout', 'latest'],
    ...['transform', 'group', 'aggregate', 'missing', 'format', 'as_of'],
  ],
  getIndicatorFile: ['indicator_id', 'as_of'],
  getProviderBundle: ['provider_id', 'as_of'],
  listEditions: ['format'],
  getCatalog: ['as_of'],
  ...Object.fromEntries(
    ['Bibtex', 'Csl', 'Datapackage', 'Croissant'].flatMap((document) => [
      [`getIndicator${document}`, ['indicator_id', 'as_of']],
      [`getProvider${document}`, ['provider_id', 'as_of']],
      [`getEdition${document}`, ['edition_id']],
    ]),
  ),
  listChanges: ['since', 'format'],
  getReceipt: ['indicator', 'country', 'year', 'transform', 'aggregate', 'as_of'],
  getConsistency: ['from', 'to'],
  getRevisions: ['indicator', 'countries', 'from', 'to', 'years', 'since', 'format'],
  verifyClaims: ['claim'],
  getUsage: ['days'],
  ping: [],
};

describe.each(OPERATIONS)('$name', (operation) => {
  const described = document.paths[`/data/api/v1${operation.path}`]?.get;
  if (!described) throw new Error(`${operation.name} is not described`);

  test('lists exactly the parameters of the interface, each with a description', () => {
    const named = (place: RegExp) =>
      described.parameters.filter((parameter) => place.test(parameter.in)).map(({ name }) => name);
    const controls = isPriced(operation) ? ['dry_run', 'max_credits'] : [];
    expect(named(/path|query/)).toEqual([...(PARAMETERS[operation.name] ?? []), ...controls]);
    expect(named(/header/)).toEqual([
      'Prefer',
      ...(operation.isCacheable ? ['If-None-Match'] : []),
      ...(isPriced(operation) ? ['Idempotency-Key'] : []),
      'X-Request-Id',
      ...(operation.isFile ? ['Range', 'If-Range', 'If-None-Match'] : []),
    ]);
    for (const { description } of described.parameters) expect(description).toMatch(/\w/);
  });

  test('states its price, and whether a key is required', () => {
    expect(described.description).toContain(`**Price**: ${operation.priceText}.`);
    expect(described.security).toEqual(operation.needsKey ? [{ bearer: [] }] : [{}, { bearer: [] }]);
  });

  test('describes every error', () => {
    for (const code of errorsOf(operation)) {
      expect(described.responses[ERRORS[code].status]?.description).toContain(`\`${code}\``);
    }
  });
});

/** The answer, with as many items of each list as the example has. */
function cutTo(example: unknown, answer: unknown): unknown {
  if (Array.isArray(example) && Array.isArray(answer))
    return answer.slice(0, example.length).map((item, at) => cutTo(example[at], item));
  if (typeof example !== 'object' || typeof answer !== 'object' || example === null || answer === null)
    return answer;
  const members = example as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(answer).map(([name, member]) => [name, cutTo(members[name], member)]),
  );
}

describe.each(OPERATIONS)('the examples of $name', (operation) => {
  const { name, path, answer: schema, needsKey, isFile, mediaType = 'application/json' } = operation;
  const type = mediaType.split(';', 1)[0] ?? mediaType;
  const isEnvelope = type === 'application/json';
  const asked = () => (name === 'getRevisions' ? revised : service);
  /** The call that a reader makes by filling in all examples. */
  async function callOfExamples(description: Operation) {
    const { key } = await asked().account({ credits: 1_000 });
    const sent = description.parameters.flatMap(({ name: parameter, in: place, example }) =>
      example === undefined
        ? []
        : [example].flat().map((one) => ({ parameter, place, text: encodeURIComponent(one) })),
    );
    const query = sent
      .filter(({ place }) => place === 'query')
      .map(({ parameter, text }) => `${parameter}=${text}`);
    const resource = sent.reduce(
      (url, { parameter, text }) => url.replace(`{${parameter}}`, text),
      `/v1${path}`,
    );
    const headers = { authorization: `Bearer ${key}` };
    return asked().get(`${resource}?${query.join('&')}`, { headers });
  }
  const described = async (at: string): Promise<Operation> => {
    const { paths } = (await asked().get(at)).json as Description;
    const found = paths[`${at === '/openapi.json' ? '/data/api/v1' : '/v1'}${path}`]?.get;
    if (!found) throw new Error(`${name} is not described at ${at}`);
    return found;
  };

  test.each(['/openapi.json', '/docs/openapi.json'])('of %s work together and find something', async (at) => {
    const answer = await callOfExamples(await described(at));
    expect(answer.status).toBe(200);
    if (!isEnvelope) return;
    const { data } = answer.json as { data: object };
    expect(Object.keys(data)).not.toEqual([]);
  });

  test('show the answer of this service, shortened', async () => {
    const description = await described('/docs/openapi.json');
    const content = description.responses['200']?.content ?? {};
    const shown = content[type]?.example;
    // Of bytes there is no example.
    if (operation.isFile) return;
    if (!isFile) expect(schema.safeParse(shown).error).toBeUndefined();
    for (const { schema: body, example } of Object.values(content))
      expect(example === undefined, 'only bytes have no example').toBe(body?.format === 'binary');
    if (isFile || (needsKey && !path.includes('{') && path !== '/data')) return;
    const answer = await callOfExamples(description);
    if (!isEnvelope) {
      expect(cutTo(shown, answer.json ?? answer.text)).toEqual(shown);
      return;
    }
    expect(answer.json).toMatchObject({ meta: (shown as { meta: object }).meta });
    const { data: example } = shown as { data: unknown };
    if (Array.isArray(example))
      expect((answer.json as { data: unknown[] }).data.slice(0, example.length)).toEqual(example);
  });
});
