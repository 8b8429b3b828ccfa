/**
 * A strict host: it is asked in everyday words, uses the first series that find_indicators gives if its match is `good`, and says
 * what get_data has of that for the place and year, else nothing. It answers most questions whose figures exist, and none of the
 * others. Phrases and subjects are those of test/search, with the series that two people named as right; the values are read from the
 * published files by DuckDB.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TOKENS_MAX, tokensAtMost } from '../../../../gateway/api/mcp/answer.ts';
import { describeWithMirror } from '../../../mirror.ts';
import { buildMirror } from '../../../shared-builds.ts';
import { Service, type TestKey } from '../../service.ts';
import { EditionTruth } from '../operations/claims/truth.ts';
import { call, type HostFigure, type ToolResult } from './mcp-client.ts';

const EXISTING = 200;
const ANSWERED_AT_LEAST = 0.85;
/** Of what does not exist, by what is missing. */
const MISSING = { subject: 40, year: 15, country: 15, group: 15, place: 15 };
const SEED = 36;
/** What most people ask about. */
const YEARS = { first: 1970, last: 2023 };
/** More than are needed: where a country has no figure of a subject, the next one is asked about. */
const DRAWN = 2_000;

const table = <Row>(file: string): Row[] =>
  parse(readFileSync(new URL(file, import.meta.url), 'utf8'), { columns: true }) as Row[];
const phrases = table<{ phrase: string; series: string }>('../../../search/phrases-read.csv').map(
  ({ phrase, series }) => ({ phrase, right: series.split(' ') }),
);
const absent = table<{ phrase: string }>('../../../search/absent-read.csv').map(({ phrase }) => phrase);
const names = table<Record<'usage' | 'name' | 'meant', string>>('../operations/usual-place-names.csv');
/** Codes are for `countries`; among words, AU is the African Union as well. */
const codes = new Set(
  table<Record<'iso2' | 'iso3', string>>('../../../../data/countries.csv').flatMap(({ iso2, iso3 }) => [
    iso2,
    iso3,
  ]),
);
const countryNames = names.filter(
  ({ usage, name, meant }) =>
    /^\w{3}$/.test(meant) && /^(statistical|press|abbreviated|article)$/.test(usage) && !codes.has(name),
);
const groupNames = names.filter(({ meant }) => /^@[^ ]+$/.test(meant)).map(({ name }) => name);
const noPlaces = names.filter(({ meant }) => meant === '' || meant.includes(' ')).map(({ name }) => name);

type Year = number | 'latest';
type Template = (words: string, place: string, year: number) => string;

const WITH_YEAR: Template[] = [
  (words, place, year) => `${words} in ${place} in ${year}?`,
  (words, place, year) => `${place} ${words} ${year}`,
  (words, place, year) => `${words}, ${place}, ${year}`,
  (words, place, year) => `What was the ${words} of ${place} in ${year}?`,
];
const LATEST: Template[] = [
  (words, place) => `${words} ${place}`,
  (words, place) => `${place}: ${words}`,
  (words, place) => `${words} in ${place} now?`,
  (words, place) => `What is the ${words} in ${place}?`,
];

interface Question {
  text: string;
  place: string;
  year: Year;
  /** Null for what does not exist. */
  answer: { iso3: string; right: readonly string[] } | null;
}

const IS_QUESTION = /^(?:how|what|who|at what)\b/;

function put(
  words: string,
  place: string,
  year: Year,
  at: number,
): Pick<Question, 'text' | 'place' | 'year'> {
  const templates = year === 'latest' ? LATEST : WITH_YEAR;
  const usual = IS_QUESTION.test(words) ? templates.slice(0, -1) : templates;
  const text = usual[at % usual.length]?.(words, place, Number(year)) ?? words;
  return { text, place, year };
}

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
  });
  afterAll(() => service?.stop());

  async function ask(name: string, args: Record<string, unknown>): Promise<ToolResult['structured']> {
    const { text, structured, figures } = await call(service, name, args, { key });
    longest = Math.max(longest, tokensAtMost(text), tokensAtMost(JSON.stringify(structured)));
    return { ...structured, figures };
  }

  /** Says what the tools say, and null where they refuse. */
  async function host({ text, place, year }: Question): Promise<HostFigure | null> {
    const found = await ask('find_indicators', { query: text });
    const [first] = found.indicators;
    if (first?.match !== 'good') return null;
    const when = year === 'latest' ? {} : { from: year, to: year };
    const asked = { indicators: [first.indicator], countries: [place], ...when };
    const { figures, groups } = await ask('get_data', asked);
    return figures.length === 1 && groups === undefined ? figures[0] : null;
  }

  const recordOf = (id: string) => service.snapshots.current()?.indicator(id)?.record;
  const yearsOf = (indicator: string, iso3: string): number[] => [...truth.years({ indicator, iso3 }).keys()];
  const newestOf = (indicator: string, iso3: string): number =>
    Math.max(
      ...yearsOf(indicator, iso3).filter((year) => year <= (recordOf(indicator)?.coverage?.latest_year ?? 0)),
    );

  function isRight({ answer, year }: Question, said: HostFigure | null): boolean {
    if (answer === null || said === null) return answer === said;
    const { indicator } = said;
    const { iso3, right } = answer;
    const wanted = year === 'latest' ? newestOf(indicator, iso3) : year;
    return (
      [said.iso3, said.year, said.unit].join() === [iso3, wanted, recordOf(indicator)?.unit ?? null].join() &&
      right.includes(indicator) &&
      said.value === truth.value({ indicator, iso3, year: wanted })
    );
  }

  /** Without those that name a place or a year themselves, and those of series that may not be exported. */
  function subjects() {
    const known = [...(service.snapshots.current()?.countriesByCode.values() ?? [])].map(({ name }) => name);
    const open = new Set(truth.open);
    return phrases
      .filter(({ phrase }) => !/\d{4}/.test(phrase) && !known.some((name) => phrase.includes(name)))
      .map((one) => ({ ...one, right: one.right.filter((id) => open.has(id)) }))
      .filter(({ right }) => right.length > 0);
  }

  const drawn = () =>
    fc.sample(
      fc.record({
        subject: fc.constantFrom(...subjects()),
        country: fc.constantFrom(...countryNames),
        at: fc.nat(10_000),
        template: fc.nat(11),
        isLatest: fc.boolean(),
      }),
      { seed: SEED, numRuns: DRAWN },
    );
  type Drawn = ReturnType<typeof drawn>[number];

  /** The years for which some right series has a figure of the country. */
  const held = ({ subject: { right }, country }: Drawn): number[] => [
    ...new Set(right.flatMap((id) => yearsOf(id, country.meant))),
  ];

  function existing(all: readonly Drawn[]): Question[] {
    const questions = all.flatMap((one): Question[] => {
      const { subject, country, at, template, isLatest } = one;
      const years = held(one).filter((year) => YEARS.first <= year && year <= YEARS.last);
      const year = years[at % years.length];
      if (year === undefined) return [];
      const answer = { iso3: country.meant, right: subject.right };
      return [{ ...put(subject.phrase, country.name, isLatest ? 'latest' : year, template), answer }];
    });
    return questions.slice(0, EXISTING);
  }

  function missing(all: readonly Drawn[]): Question[] {
    const none = (words: string, place: string, year: Year, template: number): Question => ({
      ...put(words, place, year, template),
      answer: null,
    });
    const nth = (list: readonly string[], at: number): string => list[at % list.length] ?? '';
    const yearless = all.flatMap((one): Question[] => {
      const year = 1850 + (one.at % 250);
      const years = held(one);
      if (years.length === 0 || years.includes(year)) return [];
      return [none(one.subject.phrase, one.country.name, year, one.template)];
    });
    const countryless = all.filter((one) => held(one).length === 0);
    const newest = ({ isLatest, at }: Drawn): Year => (isLatest ? 'latest' : 1990 + (at % 30));
    return [
      ...all
        .slice(0, MISSING.subject)
        .map((one) => none(nth(absent, one.at), one.country.name, newest(one), one.template)),
      ...yearless.slice(0, MISSING.year),
      ...countryless
        .slice(0, MISSING.country)
        .map((one) => none(one.subject.phrase, one.country.name, newest(one), one.template)),
      ...all
        .slice(0, MISSING.group)
        .map((one) => none(one.subject.phrase, nth(groupNames, one.at), newest(one), one.template)),
      ...all
        .slice(0, MISSING.place)
        .map((one) => none(one.subject.phrase, nth(noPlaces, one.at), newest(one), one.template)),
    ];
  }

  test('most of what exists is answered with the right value, unit and year, and nothing of what does not', async () => {
    const all = drawn();
    const questions = { existing: existing(all), missing: missing(all) };
    expect([questions.existing.length, questions.missing.length]).toEqual([EXISTING, 100]);
    const failed = async (some: readonly Question[]): Promise<string[]> => {
      const wrong: string[] = [];
      for (const question of some) {
        const said = await host(question);
        if (!isRight(question, said))
          wrong.push(`${question.text}: ${said && `${said.indicator} ${said.iso3} ${said.year}`}`);
      }
      return wrong;
    };
    expect(await failed(questions.missing)).toEqual([]);
    const wrong = await failed(questions.existing);
    expect(wrong.length, wrong.join('\n')).toBeLessThanOrEqual((1 - ANSWERED_AT_LEAST) * EXISTING);
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
    for (const { phrase } of phrases) await ask('find_indicators', { query: phrase, limit: 20 });
    const claims = widest.flatMap((indicator) =>
      ['KEN', 'BRA', 'IND', 'USA', 'CHN'].map((country) => ({ indicator, country, year: 2010, value: '1' })),
    );
    await ask('verify_claims', { claims });
    expect(longest).toBeGreaterThan(TOKENS_MAX / 2);
    expect(longest).toBeLessThanOrEqual(TOKENS_MAX);
  });
});
