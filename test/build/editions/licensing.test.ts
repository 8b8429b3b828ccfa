/** The terms of a series: the narrowest of its sources, unless a decision with a reason says otherwise. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { termsOf } from '../../../build/editions/plan/licensing.ts';
import { createCollectors } from '../../../data/curated/collectors.ts';
import { type Collector, type IndicatorOverlay, providerDefinition } from '../../../data/schema/curated.ts';
import type { CatalogueEntry, NamedSource } from '../../../data/schema/lake.ts';
import { plainEntry } from '../world.ts';

const collector = (id: string, redistributable: Collector['redistributable']): Collector => ({
  id,
  name: `The ${id} office`,
  names: [id],
  urls: [`${id}.example`],
  redistributable,
  licence: `Terms of ${id}`,
  licence_url: `https://${id}.example/terms`,
  reason: `As ${id} says.`,
  looked_up: '2026-11-22',
});
const COLLECTORS = createCollectors([
  collector('open', 'yes'),
  collector('shown', 'display'),
  collector('closed', 'no'),
]);
const PROVIDER = providerDefinition.parse({
  id: 'atlas',
  name: 'The Atlas',
  licence: 'CC BY 4.0',
  licence_url: 'https://creativecommons.org/licenses/by/4.0/',
  attribution: 'Atlas material, CC-BY',
  redistributable: true,
  access_tier: 'open',
  connector: 'ddf',
  origin: 'https://atlas.example/',
  default_topic: 'economy',
});

const named = (name: string | null, url: string | null = null): NamedSource => ({ name, url, note: null });
const terms = (more: Partial<CatalogueEntry>, overlay: IndicatorOverlay = {}, definition = PROVIDER) =>
  termsOf(definition, plainEntry('one', more), overlay, COLLECTORS);

describe('the terms of a series', () => {
  it.each([
    ['open', true, 'open', 'CC BY 4.0'],
    ['shown', true, 'display', 'Terms of shown'],
    ['closed', false, 'open', 'Terms of closed'],
    ['somebody', true, 'open', 'CC BY 4.0'],
  ])('of a source "%s"', (source, redistributable, access_tier, licence) => {
    expect(terms({ source })).toMatchObject({ redistributable, access_tier, licence });
    expect(terms({ source_url: `https://www.${source}.example/x` })).toMatchObject({
      redistributable,
      access_tier,
      licence,
    });
  });

  it('are those of the narrowest source, whatever the order', () => {
    const words = fc.array(fc.constantFrom('open', 'shown', 'closed', 'somebody'), { minLength: 1 });
    fc.assert(
      fc.property(words, (all) => {
        const { redistributable, access_tier, sources } = terms({ sources: all.map((name) => named(name)) });
        expect(redistributable).toBe(!all.includes('closed'));
        if (redistributable) expect(access_tier).toBe(all.includes('shown') ? 'display' : 'open');
        expect(sources.map(({ name }) => name)).toEqual(all);
      }),
    );
  });

  it('are wider only by a decision, which then is the reason of every source', () => {
    const decision = { redistributable: true, licence_reason: 'They said so.' };
    const decided = terms({ sources: [named('closed'), named('open')] }, decision);
    expect(decided).toMatchObject({ redistributable: true, access_tier: 'open', licence: 'CC BY 4.0' });
    for (const source of decided.sources)
      expect(source).toMatchObject({ licence: 'CC BY 4.0', licence_reason: 'They said so.' });
    const shown = terms({ source: 'closed' }, { ...decision, access_tier: 'display' });
    expect(shown).toMatchObject({ redistributable: true, access_tier: 'display' });
  });

  it('are never wider than the provider, and a curated "no" stays one', () => {
    const closed = { ...PROVIDER, redistributable: false };
    expect(terms({ source: 'open' }, { redistributable: true, licence_reason: 'x' }, closed)).toMatchObject({
      redistributable: false,
    });
    expect(terms({ source: 'open' }, { redistributable: false }).redistributable).toBe(false);
  });

  it('name whose terms withhold it, or the curated reason', () => {
    const withholder = (...given: Parameters<typeof terms>) => terms(...given).withheldBy;
    expect(withholder({ sources: [named('open'), named('closed')] })).toBe(
      'The closed office: Terms of closed',
    );
    expect(withholder({ source: 'shown' })).toBeNull();
    expect(withholder({}, {}, { ...PROVIDER, redistributable: false })).toBe('The Atlas: CC BY 4.0');
    expect(withholder({}, { redistributable: false, licence_reason: 'They asked for it.' })).toBe(
      'They asked for it.',
    );
  });

  it('name licence and reason of each source', () => {
    const { sources } = terms({ sources: [named('shown'), named('somebody')] });
    expect(sources).toEqual([
      {
        name: 'shown',
        url: null,
        note: null,
        licence: 'Terms of shown',
        licence_url: 'https://shown.example/terms',
        licence_reason: 'As shown says.',
      },
      {
        name: 'somebody',
        url: null,
        note: null,
        licence: 'Terms of shown',
        licence_url: 'https://shown.example/terms',
        licence_reason: 'The licence of The Atlas.',
      },
    ]);
  });
});

describe('the sources of a series', () => {
  it('are the curated ones before those of upstream', () => {
    const { sources, redistributable } = terms({ source: 'closed' }, { sources: [{ name: 'open' }] });
    expect([sources.map(({ name }) => name), redistributable]).toEqual([['open'], true]);
  });

  it('have a name, from the URL where upstream gives none', () => {
    const names = (url: string) => terms({ source_url: url }).sources.map(({ name }) => name);
    expect(names('http://shown.example/a')).toEqual(['The shown office']);
    expect(names('https://www.survey.example/a')).toEqual(['survey.example']);
    expect(names('https://atlas.example/page')).toEqual(['The Atlas']);
  });

  it('are all that the provider collects from where nobody knows, else the provider', () => {
    expect(terms({}).sources.map(({ name }) => name)).toEqual(['The Atlas']);
    const upstream = [{ name: 'open' }, { name: 'closed', url: 'https://closed.example/' }];
    const unknown = terms({}, {}, { ...PROVIDER, upstream });
    expect(unknown.sources.map(({ name }) => name)).toEqual(['open', 'closed']);
    expect(unknown.redistributable).toBe(false);
  });
});

describe('the credit line', () => {
  const crediting = { ...PROVIDER, credit_sources: true };
  const credit = (sources: NamedSource[], overlay: IndicatorOverlay = {}, definition = crediting) =>
    terms({ sources }, overlay, definition).attribution;

  it('names the sources after the provider’s own words', () => {
    const all = [named('Census'), named('Survey'), named('Census')];
    expect(credit(all)).toBe('Atlas material, CC-BY. Source: Census; Survey');
    expect(credit([named('The Atlas based on a survey')])).toBe('Atlas material, CC-BY');
  });

  it('does so only where the definition asks for it, and a curated one wins', () => {
    expect(credit([named('Census')], {}, PROVIDER)).toBe('Atlas material, CC-BY');
    expect(credit([named('Census')], { attribution: 'Ours' })).toBe('Ours');
  });
});
