/** The curated concepts: their series agree or say why not, and what a concept says is said nowhere else. */
import { existsSync, readFileSync } from 'node:fs';
import { parse as parseCsv } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { loadCurated } from '../../data/curated/curated.ts';

const curated = await loadCurated('data');
const concepts = [...curated.concepts.members.values()];
const members = concepts.flat();

const partsOf = (indicator: string): [provider: string, slug: string] => {
  const dot = indicator.indexOf('.');
  return [indicator.slice(0, dot), indicator.slice(dot + 1)];
};
const overlayOf = (provider: string): Record<string, string>[] => {
  const file = `data/overlay/${provider}.csv`;
  return existsSync(file) ? parseCsv(readFileSync(file), { columns: true }) : [];
};

describe('concepts', () => {
  it('have a series or several, and each says in how far it deviates with a sentence', () => {
    expect(concepts.length).toBeGreaterThan(100);
    for (const own of concepts) expect(own.length, own[0]?.concept.id).toBeGreaterThanOrEqual(1);
    for (const { series } of members.filter(({ series: { reason } }) => reason !== null))
      expect(series.reason, series.indicator).toMatch(/^\p{Lu}.{10,}\.$/u);
  });

  it('are stated in one place: neither overlay nor definition repeats them', () => {
    const repeated = members.flatMap(({ series, concept }) => {
      const [provider, slug] = partsOf(series.indicator);
      const row = overlayOf(provider).find((one) => one.slug === slug) ?? {};
      const definition = parseYaml(readFileSync(`data/providers/${provider}.yaml`, 'utf8'));
      const stated = { ...definition.indicators?.[slug], ...row };
      const taken = ['topic', 'higher_is_better', 'projected_from', 'preferred'].filter(
        (setting) => !series.deviates.some((one) => one === setting),
      );
      const says = taken.filter((setting) => (stated[setting] ?? '') !== '');
      return says.map((setting) => `${series.indicator} ${setting} (${concept.id})`);
    });
    expect(repeated).toEqual([]);
  });

  it('leave no twin in the links, which are of other relations', () => {
    const both = curated.links.filter(({ from, to }) => {
      const [one, other] = [curated.concepts.of(from), curated.concepts.of(to)];
      return one !== undefined && one.concept === other?.concept;
    });
    expect(both).toEqual([]);
  });
});
