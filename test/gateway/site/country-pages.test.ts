/** Pages of countries and comparisons of them: every figure is that of the API, and what is not there is named. */
import { describe, expect, test } from 'vitest';
import type {
  CountryDetail,
  IndicatorRecord,
  ObservationRow,
  TopicItem,
} from '../../../data/schema/records.ts';
import { dateText } from '../../../gateway/site/figures.ts';
import { useService } from '../service.ts';
import { figuresIn, linksOf, sectionOf, tableIn, textOf, valuesByYear, valuesOf } from './page-text.ts';

interface Group {
  id: string;
  name: string;
  members: string[];
  source: string;
  as_of: string;
}

const service = await useService();
const key = await service.account({ credits: 100_000 });
const codes = (await service.get('/v1/countries')).json.data.map(({ iso3 }: { iso3: string }) => iso3);

async function profile(iso3: string): Promise<CountryDetail> {
  return (await service.get(`/v1/countries/${iso3}`, { key: key.key })).json.data;
}

const asShown = ({ indicator, value }: TopicItem) => ({ indicator, value });

describe('/countries/{iso3}', () => {
  test('shows up to five figures of each topic as the API gives them, for every country', async () => {
    expect(codes.length).toBeGreaterThan(5);
    for (const iso3 of codes) {
      const { text } = await service.get(`/countries/${iso3}`);
      const { topics } = await profile(iso3);
      const held = Object.values(topics).flat().map(asShown);
      const shown = figuresIn(text);
      const expected = Object.values(topics).reduce((sum, items) => sum + Math.min(5, items.length), 0);
      expect([iso3, shown.length]).toEqual([iso3, expected]);
      for (const figure of shown) expect(held).toContainEqual(figure);
    }
  });

  test('is found by any code or name in any case, and names one address', async () => {
    for (const code of ['KEN', 'ken', 'KE', '404', 'kenya', 'the%20Republic%20of%20Kenya']) {
      const { status, text } = await service.get(`/countries/${code}`);
      expect([code, status]).toEqual([code, 200]);
      expect(text).toMatch(/<link rel="canonical" href="[^"]*\/countries\/KEN">/);
    }
  });

  test('is 404 for a code that no country has and for a group, without repeating markup', async () => {
    const { status, text } = await service.get('/countries/%3Cb%3E');
    expect(status).toBe(404);
    expect(text).not.toContain('<b>');
    expect((await service.get('/countries/EU')).status).toBe(404);
  });
});

describe('a rank on a profile', () => {
  /** Empty for a series that is not ranked, and for one that may only be shown. */
  const rankingOf = async (id: string, year: number): Promise<Map<string, number>> => {
    const { json } = await service.get(`/v1/rankings/${id}?year=${year}`, { key: key.key });
    const rows: { iso3: string; rank: number | null }[] = json.data ?? [];
    return new Map(rows.flatMap(({ iso3, rank }) => (rank === null ? [] : [[iso3, rank]])));
  };
  /** Each row of the page with the item of the API that it shows. */
  async function shownRanks(iso3: string) {
    const { text } = await service.get(`/countries/${iso3}`);
    const items = Object.values((await profile(iso3)).topics).flat();
    return (text.match(/<tr>\s*<th scope="row">.*?<\/tr>/gs) ?? []).map((row) => {
      const item = items.find(({ indicator }) => row.includes(`/indicators/${indicator}?`));
      const said = textOf(/<td class="figure rank">.*?<\/td>/s.exec(row)?.[0] ?? '');
      const [, rank, field, change = 0] = /^(\d+) of (\d+)(?: [▲▼] (?:up|down) by (\d+))?$/.exec(said) ?? [];
      return { item, said, rank: Number(rank), field: Number(field), change: Number(change) };
    });
  }

  /** Rank, field and change of rank of an item by the API: 0 where the years have other countries. */
  async function expectedRanks({ indicator, year }: TopicItem, iso3: string) {
    const [now, before] = [await rankingOf(indicator, year), await rankingOf(indicator, year - 1)];
    const both = [...now.keys()].filter((one) => before.has(one)).length;
    const isComparable = both >= 0.9 * Math.max(now.size, before.size);
    const rank = now.get(iso3) ?? Number.NaN;
    const moved = Math.abs((before.get(iso3) ?? rank) - rank);
    return { rank, field: now.size, change: isComparable ? moved : 0, moved };
  }

  test('stands with its field, and its change is over the same countries', async () => {
    const seen = new Set<string>();
    for (const iso3 of codes)
      for (const { item, said, ...shown } of await shownRanks(iso3)) {
        const { moved, ...expected } = await expectedRanks(item as TopicItem, iso3);
        seen.add(said === '–' ? 'unranked' : `${Math.min(moved, 1)} ${Math.min(expected.change, 1)}`);
        if (said !== '–' && expected.field > 0) expect([item, shown]).toEqual([item, expected]);
      }
    expect([...seen].sort()).toEqual(['0 0', '1 1', 'unranked']);
  });

  /** What the table beside lines says of each place's rank, with the year; without those that say none. */
  function ranksBesideLines(text: string) {
    const [, body = ''] = /<div class="beside">(.*?)<\/table>/s.exec(text) ?? [];
    const head = /<thead>.*<\/thead>/s.exec(body)?.[0] ?? '';
    if (!head.includes('Rank')) return [];
    const rows = body.match(/<tr><th scope="row">.*?<\/tr>/gs) ?? [];
    return rows.flatMap((row, at) => {
      const [, year] = /<td>(\d{4})/.exec(row) ?? /<th scope="col">(\d{4})/.exec(head) ?? [];
      const said = textOf(row.slice(row.lastIndexOf('<td')));
      return said === '–' ? [] : [{ at, said, year: Number(year) }];
    });
  }

  test('stands with its field beside lines and in comparisons, too', async () => {
    const five = codes.slice(0, 5);
    let compared = 0;
    for (const { id } of (await service.get('/v1/indicators')).json.data)
      for (const path of [`/indicators/${id}?`, `/compare?indicators=${id}&`])
        for (const { at, said, year } of ranksBesideLines(
          (await service.get(`${path}countries=${five}`)).text,
        )) {
          const ranks = await rankingOf(id, year);
          if (ranks.size === 0) continue;
          expect([path, said]).toEqual([path, `${ranks.get(five[at] ?? '')} of ${ranks.size}`]);
          compared += 1;
        }
    expect(compared).toBeGreaterThan(20);
  });
});

describe('/countries/{iso3}/{topic}', () => {
  test('shows all figures of the topic in the order of the API', async () => {
    for (const iso3 of codes) {
      for (const [slug, items] of Object.entries((await profile(iso3)).topics)) {
        const { text } = await service.get(`/countries/${iso3}/${slug}`);
        expect([iso3, slug, figuresIn(text)]).toEqual([iso3, slug, items.map(asShown)]);
      }
    }
  });

  test('is 404 for an unknown topic', async () => {
    expect((await service.get('/countries/KEN/astrology')).status).toBe(404);
  });
});

describe('/countries', () => {
  const listed = async (query: string): Promise<string[]> => {
    const { text } = await service.get(`/countries${query}`);
    return [...text.matchAll(/<li><a href="\/countries\/([A-Z]{3})">/g)]
      .map(([, code]) => String(code))
      .sort();
  };

  test('filters as the API does', async () => {
    const { data } = (await service.get('/v1/countries')).json;
    const regions = new Set<string>(data.flatMap(({ region }: { region: string | null }) => region ?? []));
    for (const region of regions) {
      const query = `?region=${encodeURIComponent(region)}&income=&group=`;
      const expected = data.filter((country: { region: string }) => country.region === region);
      expect(await listed(query)).toEqual(expected.map(({ iso3 }: { iso3: string }) => iso3).sort());
    }
    const { data: groups } = (await service.get('/v1/groups')).json;
    const eu = groups.find(({ id }: { id: string }) => id === 'eu');
    expect(await listed('?group=eu')).toEqual(eu.members.toSorted());
    expect(await listed('?group=nothing')).toEqual([]);
  });

  test('lists every group with the number of its members, its source and its date', async () => {
    const { data } = (await service.get('/v1/groups')).json;
    const section = sectionOf((await service.get('/countries')).text, 'groups');
    expect(linksOf(section)).toEqual([
      '/v1/groups',
      ...data.flatMap(({ id, source }: Group) => [`/countries?group=${id}`, source]),
    ]);
    const rows = [...section.matchAll(/<li>(.*?)<\/li>/gs)].map(([, row = '']) => textOf(row));
    expect(rows).toEqual(
      data.map(({ name, members, as_of }: Group) => `${name} ${members.length}, ${dateText(as_of)}`),
    );
    expect(sectionOf((await service.get('/countries?group=eu')).text, 'groups')).toBe('');
  });
});

/** Latest values in the order of the rows. */
const shown = (html: string): (number | null)[] =>
  [...html.matchAll(/<tr><th scope="row">[^<]*<\/th><td class="figure">(?:<data value="([^"]+)">)?/g)].map(
    ([, value]) => (value === undefined ? null : Number(value)),
  );

describe('/compare', () => {
  test('shows the latest figures of the API for every indicator', async () => {
    const { data: indicators } = (await service.get('/v1/indicators')).json;
    const five = codes.slice(0, 5);
    const latest = new Map<string, number | null>();
    for (const iso3 of five)
      for (const { indicator, value } of Object.values((await profile(iso3)).topics).flat())
        latest.set(`${iso3} ${indicator}`, value);
    for (const { id } of indicators) {
      const { text } = await service.get(`/compare?countries=${five.join(',')}&indicators=${id}`);
      const figures = shown(text);
      expect([id, figures.length]).toEqual([id, five.length]);
      for (const [at, iso3] of five.entries()) {
        // The profile lists observed figures; a series of projections alone shows its newest one here.
        const expected = latest.get(`${iso3} ${id}`);
        if (expected !== undefined) expect([id, iso3, figures[at]]).toEqual([id, iso3, expected]);
      }
    }
  });

  describe('of any two indicators', async () => {
    const five = codes.slice(0, 5);
    const records = (await service.get('/v1/indicators')).json.data as IndicatorRecord[];
    const pairs = records.flatMap((across) => records.map((up) => [across, up] as const));
    const isOpen = ({ access_tier }: IndicatorRecord) => access_tier === 'open';
    const shownFor = async (pair: readonly IndicatorRecord[]): Promise<string> =>
      (await service.get(`/compare?countries=${five}&indicators=${pair.map(({ id }) => id)}`)).text;
    const rowsFor = async ({ id }: IndicatorRecord, query: string): Promise<ObservationRow[]> =>
      (await service.get(`/v1/data?indicator=${id}&${query}`, { key: key.key })).json.data;

    test('has the figures of lines as tables, where series are open', async () => {
      for (const record of records) {
        const table = tableIn(await shownFor([record]), 'lines-0-table');
        const rows = isOpen(record) ? await rowsFor(record, `countries=${five}`) : [];
        expect([record.id, valuesOf(table)]).toEqual([record.id, valuesByYear(rows, five)]);
      }
    });

    test('has the years that are asked for in every picture, link and call', async () => {
      const view = 'from=2020&to=2020&scale=log';
      const path = `/compare?countries=KEN,USA&indicators=alpha.life_expectancy,alpha.population_total&${view}`;
      const { text } = await service.get(path);
      for (const [at, id] of ['alpha.life_expectancy', 'alpha.population_total'].entries()) {
        const table = tableIn(text, `lines-${at}-table`);
        const record = records.find((one) => one.id === id) as IndicatorRecord;
        const rows = await rowsFor(record, 'countries=KEN,USA&from=2020&to=2020');
        expect(valuesOf(table)).toEqual(valuesByYear(rows, ['KEN', 'USA']));
      }
      const links = linksOf(text).filter((href) => href.startsWith('/compare?'));
      expect(links.length).toBeGreaterThan(3);
      for (const href of links) expect(href).toContain(view);
      expect(textOf(text)).toContain('from=2020&to=2020&format=csv');
    });

    test('has both figures of each country as a table, where both series are open', async () => {
      let compared = 0;
      for (const pair of pairs) {
        const html = await shownFor(pair);
        const table = tableIn(html, 'scatter-table');
        const year = /countries in (\d+)/.exec(html)?.[1];
        const areShown = year !== undefined && pair.every(isOpen);
        const ids = pair.map(({ id }) => id);
        expect([ids, table !== '']).toEqual([ids, areShown]);
        if (!areShown) continue;
        const [across = [], up = []] = await Promise.all(
          pair.map((record) => rowsFor(record, `from=${year}&to=${year}`)),
        );
        const figures = new Map(up.map(({ iso3, value }) => [iso3, value]));
        const both = across.map(({ iso3, value }) => [value, figures.get(iso3) ?? null]);
        const expected = both.filter((values) => !values.includes(null)).map(String);
        const found = [...table.matchAll(/<tr>.*?<\/tr>/gs)].map(([row]) => valuesOf(row));
        expect([ids, found.slice(1).map(String).sort()]).toEqual([ids, expected.sort()]);
        compared += expected.length;
      }
      expect(compared).toBeGreaterThan(20);
    });
  });

  test('adds and removes by links and forms without a script', async () => {
    const [a, b, c] = codes;
    const { text } = await service.get(`/compare?countries=${a},${b}&indicators=&add_country=${c}`);
    const links = [...text.matchAll(/href="(\/compare\?[^"]*)" aria-label="Remove/g)];
    expect(links.length).toBe(3);
    const after = await service.get(String(links[1]?.[1]).replaceAll('&amp;', '&'));
    const left = [...after.text.matchAll(/<li><a href="\/countries\/([A-Z]{3})">/g)].map(([, code]) => code);
    expect(left).toEqual([a, c]);
  });

  test('shows at most five countries and two indicators, and says so', async () => {
    const { text } = await service.get(`/compare?countries=${codes.slice(0, 7).join(',')}`);
    expect(text.match(/aria-label="Remove /g)?.length).toBe(5);
    expect(text).toContain('Only the first 5 places are shown.');
  });
});
