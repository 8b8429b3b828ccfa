/** The machine-readable description itself. That every answer agrees with it is checked on every request of the tests. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../gateway/errors.ts';
import { buildOpenApi, errorsOf } from '../../gateway/http/openapi.ts';
import { EXAMPLES } from '../../gateway/http/openapi-examples.ts';
import { OPERATIONS } from '../../gateway/operations/registry.ts';
import { PUBLIC_ROUTES } from './public-routes.ts';
import { Service } from './service.ts';

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description?: string;
}
interface Operation {
  operationId: string;
  summary: string;
  description: string;
  security: object[];
  parameters: Parameter[];
  responses: Record<string, { description: string }>;
}
const document = buildOpenApi() as {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
};

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

test('OpenAPI 3.1, version 1.0, the eleven routes under /data/api/v1, GET only', () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(document.info.version).toBe('1.0');
  const templates = PUBLIC_ROUTES.map(({ template }) => template.replace('/v1', '/data/api/v1'));
  expect(Object.keys(document.paths).toSorted()).toEqual(templates.toSorted());
  for (const methods of Object.values(document.paths)) expect(Object.keys(methods)).toEqual(['get']);
});

test('served at /openapi.json and /data/api/openapi.json', async () => {
  for (const path of ['/openapi.json', '/data/api/openapi.json']) {
    const answer = await service.get(path);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual(JSON.parse(JSON.stringify(document)));
    expect(answer.headers['x-request-id']).toBeDefined();
  }
});

/** What the interface's tables list. */
const PARAMETERS: Record<string, string[]> = {
  listCountries: ['region', 'income_group'],
  getCountry: ['iso3', 'featured', 'topic'],
  listIndicators: ['q', 'topic', 'provider', 'featured', 'projections', 'sort', 'dir', 'limit', 'offset'],
  getIndicator: ['indicator_id'],
  listTopics: [],
  listFreshness: [],
  listCoverage: [],
  getRanking: ['indicator', 'year'],
  getData: ['indicator', 'countries', 'from', 'to', 'format'],
  getUsage: ['days'],
  ping: [],
};

describe.each(OPERATIONS)('$name', (operation) => {
  const described = document.paths[`/data/api/v1${operation.path}`]?.get;
  if (!described) throw new Error(`${operation.name} is not described`);

  test('lists exactly the parameters of the interface, each with a description', () => {
    expect(described.parameters.map(({ name }) => name)).toEqual(PARAMETERS[operation.name]);
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

  test('shows an example that fits its own schema', () => {
    expect(operation.answer.safeParse(EXAMPLES[operation.name]).error).toBeUndefined();
  });
});

test('has no examples of operations that do not exist', () => {
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(OPERATIONS.map(({ name }) => name).toSorted());
});

describe('/docs', () => {
  test('is a page that loads everything from this service, under a policy that says so', async () => {
    const page = await service.get('/docs');
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toContain("default-src 'self'");
    expect(page.headers['x-content-type-options']).toBe('nosniff');
    expect(page.headers['x-frame-options']).toBe('DENY');
    expect(page.headers['referrer-policy']).toBe('same-origin');
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(loaded.length).toBeGreaterThan(3);
    for (const path of loaded) {
      expect(path).toMatch(/^\.?\/docs\/|^\.\//);
      expect((await service.get(new URL(path, 'http://x/docs').pathname)).status).toBe(200);
    }
  });

  test('reads the same document', async () => {
    expect((await service.get('/docs/json')).json.paths).toEqual(JSON.parse(JSON.stringify(document.paths)));
  });

  test('/ leads there', async () => {
    const answer = await service.get('/');
    expect([answer.status, answer.headers.location]).toEqual([302, '/docs']);
  });
});
