/**
 * Provider definitions, `providers/<id>.yaml`: one file a provider. The file's name is the provider's id; what a
 * definition refers to (place schemes, regular expressions) must exist and work.
 */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type ProviderDefinition, providerDefinition } from '../schema/curated.ts';
import { INDICATOR_ID } from '../schema/records.ts';
import { type CuratedDocument, readDocument } from './document.ts';
import type { Problems } from './problems.ts';

const RULE_EXPRESSIONS = ['slug', 'name', 'tag', 'licence'] as const;

/** Reads every definition, ordered by id. `schemes` are the place schemes that exist. */
export async function loadProviders(
  dir: string,
  schemes: ReadonlySet<string>,
  problems: Problems,
): Promise<Map<string, ProviderDefinition>> {
  const providers = new Map<string, ProviderDefinition>();
  const names = await readdir(dir).catch(() => []);
  const files = names.filter((name) => name.endsWith('.yaml')).sort();
  if (files.length === 0) problems.add({ file: dir, line: 1 }, 'there is no provider definition (*.yaml)');
  for (const name of files) {
    const document = await readDocument(join(dir, name), providerDefinition, problems);
    if (document === undefined) continue;
    const { id } = document.value;
    const expected = basename(name, '.yaml');
    if (id !== expected) problems.add(document.at(['id']), `id: "${id}" in the file of "${expected}"`);
    checkReferences(document, schemes, problems);
    providers.set(id, document.value);
  }
  return providers;
}

function checkReferences(
  { value, at }: CuratedDocument<ProviderDefinition>,
  schemes: ReadonlySet<string>,
  problems: Problems,
): void {
  value.places.forEach((scheme, i) => {
    if (!schemes.has(scheme)) problems.add(at(['places', i]), `places: there is no scheme "${scheme}"`);
  });
  value.rules.forEach((rule, i) => {
    const given = RULE_EXPRESSIONS.filter((field) => rule[field] !== undefined);
    if (given.length === 0)
      problems.add(at(['rules', i]), `rules.${i}: slug, name, tag or licence is needed`);
    for (const field of given) {
      const fault = faultOf(rule[field] ?? '');
      if (fault !== undefined) problems.add(at(['rules', i, field]), `rules.${i}.${field}: ${fault}`);
    }
  });
  for (const slug of Object.keys(value.indicators)) {
    if (!INDICATOR_ID.test(`${value.id}.${slug}`)) {
      problems.add(at(['indicators', slug]), `indicators: "${slug}" cannot be part of an indicator id`);
    }
  }
}

function faultOf(expression: string): string | undefined {
  try {
    new RegExp(expression, 'iu');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
