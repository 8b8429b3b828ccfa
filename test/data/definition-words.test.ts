/** `data/README.md` names every setting of every connector, and no connector that there is not. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { CONNECTORS } from '../../build/connectors/registry.ts';

const readme = readFileSync('data/README.md', 'utf8');
const words = (text: string): Set<string> =>
  new Set([...text.matchAll(/`([a-z_]+)`/g)].map(([, word]) => word ?? ''));

/** What the README says of one connector: its row of the table, or its paragraph. */
function saidOf(protocol: string): string {
  const row = readme.split('\n').find((line) => line.startsWith(`| \`${protocol}\` `));
  return row ?? readme.split('\n\n').find((part) => part.startsWith(`The connector \`${protocol}\``)) ?? '';
}

/** The names of all settings, those within others included. */
function namesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap(namesIn);
  const { properties = {}, ...rest } = schema as { properties?: Record<string, unknown> };
  const inner = Object.entries(properties).flatMap(([name, one]) => [name, ...namesIn(one)]);
  return [...inner, ...Object.entries(rest).flatMap(([key, one]) => (key === 'default' ? [] : namesIn(one)))];
}

/** Places of a concept's properties in DDF: named as a whole. */
const AS_A_WHOLE: Record<string, readonly string[]> = {
  ddf: ['name', 'description', 'unit', 'scale', 'source', 'source_url', 'tags', 'licence'],
};

it.each([...CONNECTORS.keys()])('%s', (protocol) => {
  const settings = CONNECTORS.get(protocol)?.settings;
  const schema = z.toJSONSchema(settings ?? z.never(), { io: 'input', unrepresentable: 'any' });
  const names = namesIn(schema).filter((name) => !AS_A_WHOLE[protocol]?.includes(name));
  expect(names.length).toBeGreaterThan(3);
  const said = words(saidOf(protocol));
  expect([...new Set(names)].filter((name) => !said.has(name))).toEqual([]);
});
