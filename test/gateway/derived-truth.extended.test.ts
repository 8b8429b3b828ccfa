/**
 * 10,000 random derived rows of the whole mirror over HTTP, recomputed from the files of the providers by a program of its own in
 * Python, `recompute_derived.py`. What each series measures, and where it breaks, is as the snapshot says; figures, groups and
 * territories are read anew.
 */
import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SeriesRule } from '../../data/derived/recompute.ts';
import { judgeTransforms, type Measured, parseTransforms } from '../../data/derived/transforms.ts';
import type { RuleLeaf } from '../../data/proofs/merkle-tree.ts';
import { verifyDerivation } from '../../data/proofs/verify-derivation.ts';
import { parseKeys } from '../../data/proofs/verify-receipt.ts';
import { RULES } from '../../data/schema/proofs.ts';
import { SEED } from '../environment.ts';
import { describeWithMirror } from '../mirror.ts';
import { buildMirror } from '../shared-builds.ts';
import { readCatalogue, readKept, showSnapshot } from '../shown-snapshot.ts';
import { Service } from './service.ts';

const ROWS = 10_000;
const CALLS = 1300;
const GROUPS = ['eu', 'benelux', 'efta', 'world', 'african-union', 'oecd', 'wb-south-asia', 'g7', 'sids'];
/** With values out of bounds that a rule of the provider sets, which are left out. */
const BOUNDED = ['FM.LBL.BMNY.GD.ZS', 'GC.DOD.TOTL.GD.ZS', 'TX.VAL.FUEL.ZS.UN', 'TX.VAL.MMTL.ZS.UN'].map(
  (code) => `world-bank.${code}`,
);
const FIELDS = 'iso3,group,year,value,reason,status,projected,members,counted,coverage,method';

interface Question {
  indicator: string;
  transform: string[];
  countries: string[];
  groups: string[];
  own: string[] | null;
  method: string;
  from: number;
  to: number;
}

function queryOf({ indicator, transform, countries, groups, own, method, from, to }: Question): string {
  const places = [...countries, ...groups.map((id) => `@${id}`)];
  return Object.entries({
    indicator,
    from,
    to,
    fields: FIELDS,
    ...(places.length > 0 && { countries: places.join() }),
    ...(transform.length > 0 && { transform: transform.join() }),
    ...((groups.length > 0 || own !== null) && { aggregate: method }),
    ...(own !== null && { group: own.join() }),
  })
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

describeWithMirror('derived figures of the whole collection', (mirror) => {
  const hasFile = (id: string): boolean => {
    const [provider = '', slug = ''] = [id.slice(0, id.indexOf('.')), id.slice(id.indexOf('.') + 1)];
    const indicators = join(mirror, 'world-bank/datahub-wdi-long/indicators');
    if (provider === 'world-bank')
      return !BOUNDED.includes(id) && existsSync(join(indicators, slug.toLowerCase(), 'data.csv'));
    if (provider === 'owid') return /^population-(total|under-5s|under-15s|ages-65)$/.test(slug);
    const file = `gapminder/**/ddf--datapoints--${slug}--by--geo--time.csv`;
    return provider === 'gapminder' && globSync(file, { cwd: mirror }).length === 1;
  };

  test('are those that the files of the providers give, and those of the world are proven', async () => {
    const { snapshots, directory } = await buildMirror(mirror);
    const shown = await showSnapshot(snapshots);
    const catalogue = await readCatalogue(shown);
    const leaves: RuleLeaf[] = await readKept(shown, RULES);
    const byId = new Map(
      leaves.flatMap((leaf) => ('indicator' in leaf ? [[leaf.indicator, leaf] as const] : [])),
    );
    const ruleOf = (id: string | null): SeriesRule | undefined => byId.get(id ?? '');
    const known = catalogue.indicators.filter(({ record: { id, access_tier } }) => {
      const rule = ruleOf(id);
      const others = [rule?.divisor, rule?.population].filter((one) => one != null);
      return access_tier === 'open' && rule?.measure !== 'other' && [id, ...others].every(hasFile);
    });
    const ids = known.map(({ record }) => record.id);
    const codes = catalogue.countries.map(({ iso3 }) => iso3);
    const projecting = known.filter((one) => one.has_projections).map(({ record }) => record.id);

    const quantities = ids.filter((id) => ['count', 'amount'].includes(ruleOf(id)?.measure ?? ''));
    const count = fc.integer({ min: 1, max: 7 });
    const word = fc.oneof(
      { weight: 1, arbitrary: count.map((n) => `mean:${n}`) },
      { weight: 2, arbitrary: count.map((n) => `change:${n}`) },
      { weight: 4, arbitrary: count.map((n) => `growth:${n}`) },
      { weight: 2, arbitrary: fc.integer({ min: 1960, max: 2020 }).map((year) => `index:${year}`) },
      { weight: 6, arbitrary: fc.constant('per_head') },
      { weight: 6, arbitrary: fc.constantFrom(...quantities).map((id) => `per:${id}`) },
      { weight: 6, arbitrary: fc.constantFrom(...GROUPS).map((id) => `share:${id}`) },
    );
    const base = {
      indicator: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...ids) }, fc.constantFrom(...projecting)),
      countries: fc.uniqueArray(fc.constantFrom(...codes), { minLength: 2, maxLength: 6 }),
      span: fc.tuple(fc.integer({ min: 1955, max: 2030 }), fc.integer({ min: 0, max: 12 })),
    };
    const breaks = ids.flatMap((id) => ruleOf(id)?.breaks.map((one) => ({ ...one, id })) ?? []);
    // Breaks are rare: some questions are about the years around one.
    const broken = fc
      .record({
        ...base,
        at: fc.constantFrom(...breaks),
        word: fc.constantFrom('change:2', 'mean:3'),
      })
      .map(({ at: { id, iso3, year }, countries, word }) => ({
        transform: [word],
        indicator: id,
        span: [year - 2, 6] as [number, number],
        countries: iso3 === null ? countries : [iso3],
      }));
    const question = fc
      .oneof(
        { weight: 1, arbitrary: broken },
        {
          weight: 4,
          arbitrary: fc.record({ ...base, transform: fc.array(word, { minLength: 1, maxLength: 2 }) }),
        },
        {
          weight: 1,
          arbitrary: fc.record({
            ...base,
            transform: fc.array(word, { maxLength: 2 }),
            groups: fc.uniqueArray(fc.constantFrom(...GROUPS), { minLength: 1, maxLength: 3 }),
          }),
        },
        {
          weight: 1,
          arbitrary: fc.record({
            ...base,
            own: fc.uniqueArray(fc.constantFrom(...codes), { minLength: 3, maxLength: 12 }),
            method: fc.constantFrom('declared', 'declared', 'median', 'min', 'max'),
          }),
        },
      )
      .map(
        ({ span: [from, length], ...sent }): Question => ({
          transform: [],
          groups: [],
          own: null,
          method: 'declared',
          from,
          to: from + length,
          ...sent,
        }),
      )
      .filter(isDefined);

    function isDefined({ indicator, transform, groups, own, method }: Question): boolean {
      const rule = ruleOf(indicator);
      if (rule === undefined) return false;
      const isGroup = groups.length > 0 || own !== null;
      if (isGroup && method === 'declared' && rule.aggregate === 'none') return false;
      if (isGroup && transform.some((one) => /^(per|share)/.test(one))) return false;
      if (transform.length === 0) return true;
      const parsed = parseTransforms(transform.join());
      if (!Array.isArray(parsed)) throw new Error(`${transform}: ${parsed.problem}`);
      const divisors = parsed.flatMap((one) =>
        one.name === 'per' ? [one.indicator] : one.name === 'per_head' ? [rule.population ?? ''] : [],
      );
      const measured = new Map(divisors.map((id): [string, Measured] => [id, ruleOf(id) ?? rule]));
      return !divisors.includes(indicator) && 'measured' in judgeTransforms(parsed, rule, measured);
    }

    await using service = await Service.start({ snapshots }).then((started) =>
      Object.assign(started, { [Symbol.asyncDispose]: () => started.stop() }),
    );
    const { key } = await service.account({ credits: 100_000_000 });
    const calls = [];
    for (const one of fc.sample(question, { numRuns: CALLS, ...(SEED !== null && { seed: SEED }) })) {
      const { status, text, json } = await service.get(`/v1/data?${queryOf(one)}`, { key });
      expect(status, `${queryOf(one)} ${text.slice(0, 500)}`).toBe(200);
      calls.push({
        ...one,
        rows: json.data.map((row: object) =>
          FIELDS.split(',').map((name) => Object.entries(row).find(([own]) => own === name)?.[1]),
        ),
      });
    }
    const has = new Map(catalogue.indicators.map((one) => [one.record.id, one.has_projections]));
    const rules = Object.fromEntries(
      [...byId].map(([id, rule]) => [id, { ...rule, has_projections: has.get(id) ?? false }]),
    );
    const file = join(directory, 'derived-calls.json');
    await writeFile(file, JSON.stringify({ rules, calls }));
    const program = join(import.meta.dirname, 'recompute_derived.py');
    const { stdout } = await promisify(execFile)('python3', [program, mirror, 'data', file]);
    const { wrong, rows, seen } = JSON.parse(stdout);
    expect(wrong).toEqual([]);
    expect(rows).toBeGreaterThan(ROWS);
    for (const name of ['change', 'growth', 'index', 'mean', 'per_head', 'per', 'share'])
      expect([name, seen[`${name} figure`] > 20, seen[`${name} none`] > 2]).toEqual([name, true, true]);
    for (const reason of ['no_base', 'gap', 'break', 'zero', 'not_positive', 'coverage'])
      expect([reason, seen[`reason ${reason}`] > 0]).toEqual([reason, true]);
    expect(seen.projected).toBeGreaterThan(100);

    const keys = parseKeys((await service.get('/.well-known/almanac-keys.json')).text);
    for (const indicator of ['SP.POP.TOTL', 'NY.GDP.MKTP.CD', 'SP.DYN.LE00.IN'].map(
      (code) => `world-bank.${code}`,
    )) {
      const about = `indicator=${indicator}&aggregate=declared`;
      const [row] = (
        await service.get(`/v1/data?${about}&countries=@world&from=2015&to=2015&fields=value`, { key })
      ).json.data;
      const receipt = await service.get(`/v1/receipts?${about}&country=@world&year=2015`, { key });
      expect(receipt.status, receipt.text.slice(0, 500)).toBe(200);
      expect(verifyDerivation(receipt.text, keys).figure.value).toBe(row.value);
    }
  });
});
