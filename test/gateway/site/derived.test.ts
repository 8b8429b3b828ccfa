/** Derived figures on `/indicators/{indicator_id}`, `/compare` and their pictures: all that they show is what the API gives. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnDecimals, figureText } from '../../../gateway/site/figures.ts';
import { useDirectory } from '../../after-tests.ts';
import {
  BREAKS,
  EDITION_GROUPS,
  GROUP_FIGURES,
  GROUPS,
  group,
  INVENTED,
  linear,
  OUTPUT,
  PEOPLE,
  relative,
} from '../derived-world.ts';
import { COUNTRIES } from '../fixture-data.ts';
import { publishFixture } from '../fixture-snapshot.ts';
import {
  columnsOf,
  linksOf,
  rowsOf,
  sectionOf,
  structuredOf,
  tableIn,
  textOf,
  unescaped,
  valuesByYear,
  valuesOf,
} from './page-text.ts';
import { testService } from './test-service.ts';

const root = await useDirectory();
await publishFixture(root, {
  indicators: INVENTED,
  added: { breaks: BREAKS },
  groups: GROUP_FIGURES,
  editionGroups: EDITION_GROUPS,
});
const service = testService({ snapshots: root, settings: { PUBLIC_URL: 'https://almanac.test' } });

const page = async (path: string): Promise<string> => {
  const { status, text } = await service.get(path);
  expect([path, status]).toEqual([path, 200]);
  return text;
};

interface Ranked {
  rank: number | null;
  name: string;
  value: number | null;
}

interface Row {
  iso3: string | null;
  group?: string | null;
  name: string;
  year: number;
  value: number | null;
  projected: boolean;
}

const FIELDS = 'iso3,group,name,year,value,projected';

/** As a column has them: those from which other years could be computed are no exact values. */
function texts(rows: readonly { value: number | null }[]): string[] {
  const values = rows.map(({ value }) => value);
  return values.map((value) => figureText(value, columnDecimals(values)));
}

/** Observed, or else projected. */
const newestOf = (rows: readonly Row[]): Row | undefined =>
  rows.findLast(({ projected }) => !projected) ?? rows.at(-1);

/** Expects every figure by year, as an exact value where it may be. */
function expectTable(
  table: string,
  data: readonly Row[],
  { codes, isExact }: { codes: readonly string[]; isExact: (code: string) => boolean },
): void {
  const codeOf = ({ group, iso3 }: Row): string => group ?? iso3 ?? '';
  const [, ...names] = columnsOf(table);
  const cells = rowsOf(table).flatMap(([year, ...figures]) =>
    figures.map((cell, at) => ({
      year: Number(year),
      name: names[at],
      cell: cell.replace(' projected', ''),
    })),
  );
  for (const { year, name, cell } of cells) {
    const value = data.find((row) => row.year === year && row.name === name)?.value ?? null;
    expect([year, name, cell]).toEqual([year, name, figureText(value, /\.(\d+)$/.exec(cell)?.[1]?.length)]);
  }
  const shown = data.filter(({ value }) => value !== null);
  expect(cells.filter(({ cell }) => cell !== '–')).toHaveLength(shown.length);
  const exact = codes.filter(isExact);
  expect(valuesOf(table)).toEqual(
    valuesByYear(
      shown.filter((row) => exact.includes(codeOf(row))),
      exact,
    ),
  );
}

/** Expects what each place rose or fell from and to. @param histories oldest first */
function expectWords(text: string, histories: readonly (readonly Row[])[]): void {
  for (const held of histories) {
    const [first, last] = [held[0], newestOf(held)];
    if (first === undefined || last === undefined) continue;
    const from = first.year === last.year ? ': ' : ` from ${figureText(first.value)} in ${first.year} to `;
    const said = `${from}${figureText(last.value)}`;
    const isSaid = (sentence: string): boolean => sentence.includes(last.name) && sentence.includes(said);
    expect([last.name, said, text.split('. ').some(isSaid)]).toEqual([last.name, said, true]);
  }
}

const problemsIn = (html: string): string[] =>
  [...html.matchAll(/<p class="problem" role="alert">(.*?)<\/p>/g)].map(([, text = '']) => textOf(text));

const word = fc.oneof(linear, relative, fc.constantFrom('per_head', `per:${PEOPLE}`), group);
const chain = fc.array(word, { minLength: 1, maxLength: 2 });
const anyIndicator = fc.constantFrom(...INVENTED.map(({ id }) => id));
const groupCodes = Object.keys(GROUPS).map((id) => `@${id}`);
const places = fc.subarray([...groupCodes, ...COUNTRIES.slice(1, 6).map(({ iso3 }) => iso3)], {
  minLength: 1,
});

describe('the page of an indicator', () => {
  test('has the figures, ranks, unit and credit of the API under any transforms, or says why not', async () => {
    await fc.assert(
      fc.asyncProperty(anyIndicator, chain, async (id, words) => {
        const html = await page(`/indicators/${id}?transform=${words}`);
        const { status } = await service.buy(`/v1/rankings/${id}?transform=${words}`);
        const ranking = sectionOf(html, 'ranking');
        expect(problemsIn(html).length > 0).toBe(status !== 200);
        if (status !== 200) {
          const published = await page(`/indicators/${id}`);
          expect(ranking).toBe(sectionOf(published, 'ranking'));
          return;
        }
        const year = /<h2 id="ranking">\w+, (\d+)</.exec(ranking)?.[1];
        const asked = await service.buy(`/v1/rankings/${id}?transform=${words}&year=${year}`);
        const { data, meta } = asked.json;
        const held = (data as Ranked[]).filter(({ value }) => value !== null);
        const [rank, name, value] = [0, 1, 2].map((at) => rowsOf(ranking).map((cells) => cells[at] ?? ''));
        expect(value).toEqual(texts(held));
        expect(rank).toEqual(held.map((row) => String(row.rank)));
        expect(name?.filter((text, at) => !text.startsWith(held[at]?.name ?? '-'))).toEqual([]);
        expect(ranking).not.toContain('<data');
        const heads = /<thead>.*<\/thead>/.exec(ranking)?.[0] ?? '';
        expect(textOf(heads)).toContain(held.length === 0 ? '' : `Country ${meta.unit ?? 'Value'}`);
        for (const { attribution, licence } of meta.derivation.inputs)
          expect(textOf(html)).toContain(`${attribution} (${licence})`);
        expect(textOf(html)).toContain(`Computed by Almanac: ${meta.derivation.formula}`);
      }),
      { numRuns: 120 },
    );
  });

  test('has the figures of groups and countries of the API as lines, in the year of the ranking', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyIndicator,
        fc.oneof(linear, relative, fc.constant('')),
        places.map((codes) => codes.slice(0, 6)),
        async (id, words, codes) => {
          const transform = words && `&transform=${words}`;
          const hasGroups = codes.some((code) => code.startsWith('@'));
          const query = `countries=${codes}${hasGroups ? '&aggregate=declared' : ''}${transform}`;
          const html = await page(`/indicators/${id}?${query}`);
          const { status, json } = await service.buy(`/v1/data?indicator=${id}&${query}&fields=${FIELDS}`);
          expect(problemsIn(html).length > 0).toBe(status !== 200 && (hasGroups || words !== ''));
          if (status !== 200) return;
          const lines = sectionOf(html, 'lines');
          const year = Number(/<th scope="col">(\d+)<\/th>/.exec(lines)?.[1]);
          const rows = codes.map((code) => {
            const own = (json.data as Row[]).filter((row) => (row.group ?? row.iso3) === code);
            return { own, now: own.find((row) => row.year === year) };
          });
          for (const [at, [, cell = '']] of rowsOf(lines).entries())
            expect(cell).toBe(figureText(rows[at]?.now?.value ?? null, /\.(\d+)$/.exec(cell)?.[1]?.length));
          expect(rowsOf(lines)).toHaveLength(rows.length);
          const isExact = (code: string): boolean => words === '' && !code.startsWith('@');
          expectTable(tableIn(lines, 'lines-table'), json.data, { codes, isExact });
          expectWords(
            unescaped(lines),
            rows.map(({ own }) => own.filter(({ value }) => value !== null)),
          );
        },
      ),
      { numRuns: 120 },
    );
  });

  test('offers what the API has, and nothing else', async () => {
    for (const { id } of INVENTED) {
      const html = await page(`/indicators/${id}`);
      const isServed = async (query: string) =>
        (await service.buy(`/v1/data?indicator=${id}&countries=KEN${query}`)).status === 200;
      const choice = /<select name="transform">.*?<\/select>/s.exec(html)?.[0] ?? '';
      const offered = [...choice.matchAll(/<option value="([^"]*)"/g)].map(([, value = '']) => value);
      for (const value of offered)
        expect([id, value, await isServed(value && `&transform=${value}`)]).toEqual([id, value, true]);
      for (const value of ['per_head', 'index:2005', 'change:1'])
        expect([id, value, offered.includes(value)]).toEqual([
          id,
          value,
          await isServed(`&transform=${value}`),
        ]);
      const hasGroups = await isServed(`,${groupCodes[0]}&aggregate=declared`);
      expect([id, html.includes('data-suggest="places"')]).toEqual([id, hasGroups]);
    }
  });

  test('goes on from figures per head, and keeps all that was chosen in links, forms and frames', async () => {
    const query = 'year=2006&countries=KEN,DEU&transform=per_head';
    const html = await page(`/indicators/${OUTPUT}?${query}`);
    expect(html).toContain('<option value="per_head" selected>');
    expect(html).toContain('<option value="per_head,index:2005">');
    expect(textOf(html)).toContain(`${OUTPUT}, per head`);
    const own = linksOf(html).filter(
      (href) =>
        /^\/(indicators\/[^/]*|compare|embed)/.test(href) &&
        href.includes('KEN') &&
        // Free files have figures as published.
        !/\.(csv|xlsx)\?/.test(href),
    );
    expect(own.length).toBeGreaterThan(3);
    for (const href of own) expect(href).toContain('transform=per_head');
    const frames = [...textOf(html).matchAll(/<iframe src="https:\/\/almanac\.test([^"]+)"/g)].map(
      ([, src = '']) => unescaped(src),
    );
    expect(frames).toHaveLength(3);
    for (const path of [...own, ...frames]) {
      expect(path).toContain('transform=per_head');
      const { status, headers, text } = await service.get(path);
      expect([path, status]).toEqual([path, 200]);
      if (/html|svg/.test(String(headers['content-type']))) expect(text).toContain('per head');
    }
    for (const form of html.matchAll(/<form class="(?:filter|search)" action="\/indicators\/.*?<\/form>/gs))
      for (const field of ['countries', 'transform', 'year'])
        expect(form[0]).toMatch(new RegExp(`name="${field}"`));
    expect(structuredOf(html)).toMatchObject({
      identifier: OUTPUT,
      name: expect.not.stringContaining('per head'),
    });
  });

  test('has the prices and calls of the API, and cites the computation', async () => {
    for (const more of [
      'transform=per_head',
      'transform=index:2005&aggregate=declared',
      'aggregate=declared',
    ]) {
      const codes = more.includes('aggregate') ? `KEN,${groupCodes[0]}` : 'KEN,DEU';
      const html = await page(`/indicators/${OUTPUT}?countries=${codes}&${more}`);
      const section = sectionOf(html, 'use');
      const prices = valuesOf(section.slice(0, section.indexOf('</table>')));
      const transform = /transform=[^&]*/.exec(more)?.[0] ?? '';
      const calls = [
        `/v1/data?indicator=${OUTPUT}&countries=${codes}&${more}`,
        `/v1/rankings/${OUTPUT}?${transform}`,
        `/v1/data?indicator=${OUTPUT}&${transform}`,
      ];
      const charged: number[] = [];
      for (const call of calls) charged.push(Number((await service.buy(call)).headers['x-credits-charged']));
      expect([more, prices.slice(0, 3)]).toEqual([more, charged]);
      const shown = /https:\/\/almanac\.test(\/v1\/data[^\s"]+)/.exec(textOf(section))?.[1];
      const [asShown, asked] = [await service.buy(String(shown)), await service.buy(calls[0] ?? '')];
      expect(asShown.json.data).toEqual(asked.json.data);
      expect(textOf(sectionOf(html, 'cite')).includes('computed by Almanac: ')).toBe(transform !== '');
    }
  });

  test.each([
    ['gamma.shown', 'transform=index:2005', 'licence'],
    [OUTPUT, 'transform=nothing', 'a transform is one of'],
    ['alpha.unread', 'transform=change:1', 'nobody has decided what it measures'],
    ['alpha.rate', 'transform=growth:1', 'its measure is “rate”, and this is defined for counts'],
    [OUTPUT, `countries=KEN,@nothing&aggregate=declared`, 'There are no figures of a group “@nothing”.'],
    [
      OUTPUT,
      `countries=KEN,${groupCodes[0]}&aggregate=declared&transform=share:${groupCodes[0]?.slice(1)}`,
      'groups as places take',
    ],
    ['gamma.shown', `countries=KEN,${groupCodes[0]}&aggregate=declared`, 'licence'],
    [OUTPUT, `countries=KEN,${groupCodes[0]}&aggregate=%3Cb%3E`, 'declared'],
  ])('of %s under %s says why it shows something else', async (id, query, why) => {
    const html = await page(`/indicators/${id}?${query}`);
    expect(problemsIn(html).join(' ')).toContain(why);
    expect(html).not.toContain('<b>');
    for (const path of [`/indicators/${id}/lines.svg?${query}`, `/embed/indicators/${id}?${query}`])
      expect([path, (await service.get(path)).status]).toEqual([path, 404]);
  });
});

describe('the comparison', () => {
  test('has the figures of the API of places under transforms', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(linear, relative), places, async (words, all) => {
        const codes = all.slice(0, 5);
        const query = `countries=${codes}&aggregate=declared&transform=${words}`;
        const html = await page(`/compare?indicators=${OUTPUT},${PEOPLE}&${query}`);
        expect(problemsIn(html)).toEqual([]);
        for (const [at, id] of [OUTPUT, PEOPLE].entries()) {
          const hasGroups = codes.some((code) => code.startsWith('@'));
          const { json } = await service.buy(
            `/v1/data?indicator=${id}&${hasGroups ? query : query.replace('&aggregate=declared', '')}`,
          );
          const latest = codes.map((code) => {
            const own = (json.data as Row[]).filter(
              (row) => (row.group ?? row.iso3) === code && row.value !== null,
            );
            return newestOf(own);
          });
          const section = sectionOf(html, `compared-${at + 1}`);
          expect(rowsOf(section).map(([, cell]) => cell)).toEqual(
            texts(latest.map((row) => ({ value: row?.value ?? null }))),
          );
          expect(rowsOf(section).map(([, , year]) => year?.split(' ')[0])).toEqual(
            latest.map((row) => String(row?.year ?? '–')),
          );
        }
      }),
      { numRuns: 40 },
    );
  });

  test('offers and shows what makes sense for both, and names the call of it', async () => {
    const both = await page(`/compare?indicators=${OUTPUT},${PEOPLE}&countries=KEN,DEU`);
    expect(both).not.toContain('value="per_head"');
    expect(both).toContain('value="index:2005"');
    const refused = await page(`/compare?indicators=${OUTPUT},alpha.rate&countries=KEN&transform=growth:1`);
    expect(problemsIn(refused)).toHaveLength(1);
    const html = await page(
      `/compare?indicators=${OUTPUT}&countries=KEN,${groupCodes[0]}&aggregate=declared&transform=index:2005`,
    );
    const call = /almanac\.test(\/v1\/data[^\s']*)/.exec(textOf(html))?.[1];
    expect((await service.buy(String(call))).text).toContain(groupCodes[0]);
    for (const href of linksOf(html).filter((link) => link.startsWith('/compare?')))
      expect(href).toContain('transform=index:2005');
  });
});

describe('the documentation', () => {
  test.each([
    ['/docs/reference/getData', 2],
    ['/docs/reference/getRanking', 1],
    ['/docs/comparing', 2],
  ])('%s has calls of derived figures, and their answers', async (path, least) => {
    const html = await page(path);
    const shown = [...textOf(html).matchAll(/curl [^']*'https:\/\/[^/']+(\/v1\/[^']+)'/g)].map(
      ([, call = '']) => call,
    );
    const calls = shown.filter((call) => /transform=|aggregate=/.test(call));
    expect(calls.length).toBeGreaterThanOrEqual(least);
    for (const call of calls) {
      const { status, json } = await service.buy(call);
      expect([call, status]).toEqual([call, 200]);
      if (path !== '/docs/comparing')
        expect(textOf(html)).toContain(textOf(JSON.stringify(json.data[0], null, 2)));
    }
  });
});
