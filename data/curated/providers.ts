/**
 * Reads provider definitions, `providers/<id>.yaml`. The file name is the provider's id. Place schemes must exist and
 * regular expressions must compile.
 */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type ProviderDefinition, providerDefinition } from '../schema/curated.ts';
import { QUALITY_REPORTS } from '../schema/lake.ts';
import { INDICATOR_ID } from '../schema/records.ts';
import { type CuratedDocument, readDocument } from './document.ts';
import type { Position, Problems } from './problems.ts';

const RULE_EXPRESSIONS = ['slug', 'name', 'tag', 'licence'] as const;

export interface Providers {
  /** Definitions by id, in the order of ids. */
  definitions: Map<string, ProviderDefinition>;
  /** Ids of all files, invalid ones included, so that a bad definition is not reported again by its references. */
  named: ReadonlySet<string>;
  /** Where a value stands in the file of a definition. */
  at(id: string, path: readonly PropertyKey[]): Position;
}

/** @param schemes the place schemes that exist. */
export async function loadProviders(
  dir: string,
  schemes: ReadonlySet<string>,
  problems: Problems,
): Promise<Providers> {
  const definitions = new Map<string, ProviderDefinition>();
  const named = new Set<string>();
  const positions = new Map<string, CuratedDocument<ProviderDefinition>['at']>();
  const names = await readdir(dir).catch(() => []);
  const files = names.filter((name) => name.endsWith('.yaml')).sort();
  if (files.length === 0) problems.add({ file: dir, line: 1 }, 'there is no provider definition (*.yaml)');
  for (const name of files) {
    const expected = basename(name, '.yaml');
    named.add(expected);
    const document = await readDocument(join(dir, name), providerDefinition, problems);
    if (document === undefined) continue;
    const { id } = document.value;
    if (id !== expected) problems.add(document.at(['id']), `id: "${id}" in the file of "${expected}"`);
    if (id === QUALITY_REPORTS)
      problems.add(document.at(['id']), `id: "${id}" is reserved for the lake's reports`);
    checkReferences(document, schemes, problems);
    definitions.set(id, document.value);
    positions.set(id, document.at);
  }
  return { definitions, named, at: (id, path) => positions.get(id)?.(path) ?? { file: dir, line: 1 } };
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
