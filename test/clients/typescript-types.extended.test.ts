/**
 * The types of the TypeScript client are those that `openapi-typescript` makes of the served description. After a change of
 * the description, `npx vitest run --project extended test/clients/typescript-types -u` writes them anew.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { useService } from '../gateway/service.ts';
import { installNodePackages } from '../node-packages.ts';
import { run } from '../run-program.ts';
import { PACKAGE } from './typescript-package.ts';

const NODE_PACKAGES = [
  'openapi-typescript@7.13.0',
  // The generator needs the compiler as a library, which its next major version is not.
  'typescript@5.9.3',
];
const BIOME = join(import.meta.dirname, '../../node_modules/.bin/biome');
const CONFIGURATION = join(import.meta.dirname, '../../biome.json');
const HEADER =
  '/** Generated from the served description: `test/clients/typescript-types.extended.test.ts` holds it. */\n';

/** What the verbs of the client answer; the rest of the description would only make the package larger. */
const ANSWERS = [
  'SearchAnswer',
  'ListIndicatorsAnswer',
  'GetIndicatorAnswer',
  'ListCountriesAnswer',
  'ListGroupsAnswer',
  'ListTopicsAnswer',
  'ListEditionsAnswer',
  'ListChangesAnswer',
  'GetDataAnswer',
  'GetRankingAnswer',
  'GetCountryAnswer',
  'GetRevisionsAnswer',
  'VerifyClaimsAnswer',
  'DryRunAnswer',
  'InvalidAnswer',
];

type Schemas = Record<string, object>;

interface Described {
  responses: Record<'200', { content: Record<'application/json', { schema: object }> }>;
}

const bodyOf = ({ responses }: Described): object => responses['200'].content['application/json'].schema;

/** These schemas and all that they refer to, in the order of the description. */
function withReferences(schemas: Schemas, names: readonly string[]): Schemas {
  const wanted = new Set(names);
  for (const name of wanted)
    for (const [, other = ''] of JSON.stringify(schemas[name]).matchAll(/#\/components\/schemas\/(\w+)/g))
      wanted.add(other);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => wanted.has(name)));
}

const isObject = (schema: object): boolean =>
  Object.keys((schema as { properties?: object }).properties ?? {}).length > 2;
/** Members of a schema that say nothing of what it describes. */
const STRUCTURE = ['properties', 'items', 'anyOf', 'oneOf', 'allOf'];

/** Objects that are described several times become schemas of their own, named by the member that has them. */
function withSharedObjects(schemas: Schemas): Schemas {
  const times = new Map<string, number>();
  JSON.stringify(schemas, (_, value) => {
    const text = JSON.stringify(value);
    if (value && isObject(value)) times.set(text, (times.get(text) ?? 0) + 1);
    return value;
  });
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]));
  const shared: Schemas = {};
  const parts = (value: object, name: string): object =>
    Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, replaced(one, STRUCTURE.includes(key) ? name : key)]),
    );
  const replaced = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => replaced(one, name));
    if (typeof value !== 'object' || value === null) return value;
    const text = JSON.stringify(value);
    if (!isObject(value) || (times.get(text) ?? 0) < 2) return parts(value, name);
    let own = names.get(text);
    if (own === undefined) {
      const word = name.charAt(0).toUpperCase() + name.slice(1);
      const alike = [...names.values()].filter((one) => one.replace(/\d+$/, '') === word).length;
      own = alike === 0 ? word : `${word}${alike + 1}`;
      names.set(text, own);
      shared[own] = parts(value, name);
    }
    return { $ref: `#/components/schemas/${own}` };
  };
  const whole = Object.entries(schemas).map(([name, schema]) => [name, parts(schema, name)]);
  return { ...shared, ...Object.fromEntries(whole) };
}

const modules = await installNodePackages(NODE_PACKAGES);
const service = await useService();
const cwd = await useDirectory();

test('types are generated from the served description', async () => {
  const { json: served } = await service.get('/v1/openapi.json');
  const { get, post } = served.paths['/v1/feeds'];
  const inline = { ListFeedsAnswer: bodyOf(get), CreateFeedAnswer: bodyOf(post) };
  const known = { ...served.components.schemas, ...inline };
  const schemas = withSharedObjects(withReferences(known, [...ANSWERS, ...Object.keys(inline)]));
  const reduced = { openapi: served.openapi, info: served.info, paths: {}, components: { schemas } };
  await writeFile(join(cwd, 'openapi.json'), JSON.stringify(reduced));
  const generator = join(modules, 'openapi-typescript/bin/cli.js');
  await run(process.execPath, [generator, 'openapi.json', '--output', 'api.ts'], { cwd });
  const written = join(cwd, 'api.ts');
  await writeFile(written, HEADER + (await readFile(written, 'utf8')));
  await run(BIOME, ['format', '--write', '--config-path', CONFIGURATION, '--vcs-enabled=false', written]);
  await expect(await readFile(written, 'utf8')).toMatchFileSnapshot(join(PACKAGE, 'src/api.ts'));
});
