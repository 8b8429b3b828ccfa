/**
 * Questions with known answers, a third of them about what does not exist. A scripted host may say only what the tools
 * return: it answers all that exist, with the right unit and year, and none of the others. The answers are read from
 * the published files by DuckDB.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConceptWords } from '../../../../data/curated/concepts.ts';
import { Problems } from '../../../../data/curated/table.ts';
import { TOKENS_MAX, tokensAtMost } from '../../../../gateway/api/mcp/answer.ts';
import { DATA } from '../../../build/world.ts';
import { SEED } from '../../../environment.ts';
import { describeWithMirror } from '../../../mirror.ts';
import { BUILD_WITHIN_MS, buildMirror } from '../../../shared-builds.ts';
import { Service, type TestKey } from '../../service.ts';
import { EditionTruth } from '../operations/claims/truth.ts';
import { call, type ToolResult } from './mcp-client.ts';

const EXISTING = 200;
const MISSING = 100;

interface Question {
  /** What is asked about, in words. */
  about: string;
  country: string;
  year: number | 'latest';
  /** Null for what does not exist. */
  answer: { value: number; unit: string | null; year: number } | null;
}

/** Nothing of these kinds is held, or no such place. */
const NO_SUBJECTS = [
  ...['unicorn sightings', 'favourite colour', 'pokemon cards per person', 'speed limit on motorways'],
  ...['who won the world cup', 'average shoe size', 'number of volcanoes', 'price of a big mac'],
  ...['height of the tallest building', 'left-handed people', 'cats per household', 'number of Nobel prizes'],
];
const NO_PLACES = [
  ...['Atlantis', 'Congo', 'Korea', 'Soviet Union', 'Africa', 'World', 'Yugoslavia', 'the Moon', 'Wakanda'],
  ...['European Union', '@g20', 'OECD', 'East Germany', 'Virgin Islands', 'Narnia', 'Latin America'],
];

/** Names of one country that others share: it is asked for by its code. */
const SHARED_NAMES: ReadonlySet<string> = new Set(['Congo', 'Saint Martin']);

describeWithMirror('grounded answers', (mirror) => {
  let service: Service;
  let key: TestKey;
  let truth: EditionTruth;
  let longest = 0;
  beforeAll(async () => {
    const { snapshots } = await buildMirror(mirror);
    truth = await EditionTruth.read(snapshots);
    service = await Service.start({ snapshots });
    key = await service.account({ credits: 1_000_000 });
  }, BUILD_WITHIN_MS);
  afterAll(() => service?.stop());

  async function ask(name: string, args: Record<string, unknown>): Promise<ToolResult['structured']> {
    const { text, structured, figures } = await call(service, name, args, { key });
    longest = Math.max(longest, tokensAtMost(text), tokensAtMost(JSON.stringify(structured)));
    return { ...structured, figures };
  }

  /** Says what the tools say, and null where they refuse. */
  async function host({ about, country, year }: Question): Promise<Question['answer']> {
    const found = await ask('find_indicators', { query: about });
    if (found.match !== 'good') return null;
    const { indicator } = found.indicators[0];
    const when = year === 'latest' ? {} : { from: year, to: year };
    const { figures, groups } = await ask('get_data', {
      indicators: [indicator],
      countries: [country],
      ...when,
    });
    if (figures.length !== 1 || groups !== undefined) return null;
    const [{ value, unit, year: given }] = figures;
    return { value, unit, year: given };
  }

  /** Subjects by name, each with the series that answers it: the preferred one of its concept, where it is held. */
  function subjects(): { about: string; indicator: string }[] {
    const problems = new Problems();
    const concepts = loadConceptWords(DATA, problems);
    problems.throwIfAny();
    const open = new Set(truth.open);
    return concepts.flatMap(({ name, series }) => {
      const indicator = series.find((id) => service.snapshots.current()?.indicator(id) !== undefined);
      return indicator === undefined || !open.has(indicator) ? [] : [{ about: name, indicator }];
    });
  }

  function questions(): Question[] {
    const nameOf = (iso3: string): string => {
      const name = service.snapshots.current()?.countriesByCode.get(iso3)?.name ?? iso3;
      return SHARED_NAMES.has(name) ? iso3 : name;
    };
    const known = subjects();
    const record = (id: string) => service.snapshots.current()?.indicator(id)?.record;
    const arbitrary = fc.record({ subject: fc.constantFrom(...known), at: fc.nat(), isLatest: fc.boolean() });
    const picked = fc.sample(arbitrary, { seed: SEED ?? 21, numRuns: EXISTING });
    const existing = picked.map(({ subject: { about, indicator }, at, isLatest }): Question => {
      const held = [...truth.figures([indicator])].map(({ place, value }) => ({ ...place, value }));
      const figure = held[at % held.length];
      if (figure === undefined) throw new Error(`${indicator} has no figures`);
      const newest = record(indicator)?.coverage?.latest_year ?? 0;
      const own = held.filter(({ iso3, year }) => iso3 === figure.iso3 && year <= newest);
      const latest = own.toSorted((a, b) => b.year - a.year)[0];
      const chosen = isLatest && latest !== undefined ? latest : figure;
      const unit = record(indicator)?.unit ?? null;
      return {
        about,
        country: nameOf(chosen.iso3),
        year: chosen === latest && isLatest ? 'latest' : chosen.year,
        answer: { value: chosen.value, unit, year: chosen.year },
      };
    });
    const missing = existing.slice(0, MISSING).map((question, at): Question => {
      const never = { ...question, answer: null };
      if (at % 4 === 0) return { ...never, about: NO_SUBJECTS[(at / 4) % NO_SUBJECTS.length] ?? '' };
      if (at % 4 === 1) return { ...never, country: NO_PLACES[((at - 1) / 4) % NO_PLACES.length] ?? '' };
      return { ...never, year: at % 4 === 2 ? 1066 : 2190 };
    });
    return [...existing, ...missing];
  }

  test('what exists is answered with unit and year, and what does not is not', async () => {
    const asked = questions();
    expect(asked).toHaveLength(EXISTING + MISSING);
    const wrong: unknown[] = [];
    for (const question of asked) {
      const said = await host(question);
      if (JSON.stringify(said) !== JSON.stringify(question.answer)) wrong.push({ question, said });
    }
    expect(wrong).toEqual([]);
    expect(longest).toBeLessThanOrEqual(TOKENS_MAX);
  });

  test('the longest calls on the whole catalogue stay under the bound', async () => {
    const widest = truth.open.toSorted((a, b) => b.length - a.length).slice(0, 10);
    const iso3 = [...(service.snapshots.current()?.countriesByCode.keys() ?? [])];
    await ask('get_data', { indicators: widest, from: -9999 });
    await ask('get_data', { indicators: widest, countries: iso3.slice(0, 60), latest: 100 });
    await ask('compare_countries', { indicators: widest.slice(0, 5), countries: iso3.slice(0, 20) });
    for (const indicator of widest) {
      await ask('rank_countries', { indicator, limit: 250 });
      await ask('describe_indicator', { indicator });
    }
    for (const topic of ['health', 'economy', 'gender'])
      await ask('country_profile', { country: 'Brazil', topic });
    for (const { about } of subjects()) await ask('find_indicators', { query: about, limit: 20 });
    const claims = widest.flatMap((indicator) =>
      ['KEN', 'BRA', 'IND', 'USA', 'CHN'].map((country) => ({ indicator, country, year: 2010, value: '1' })),
    );
    await ask('verify_claims', { claims });
    expect(longest).toBeGreaterThan(TOKENS_MAX / 2);
    expect(longest).toBeLessThanOrEqual(TOKENS_MAX);
  });
});
