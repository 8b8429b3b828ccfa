/** What changed between editions, and former ids: over HTTP, on snapshots that the build made. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseKeys, verifyReceipt } from '../../data/proofs/verify-receipt.ts';
import { PUBLICATION_LOG } from '../../data/schema/snapshot.ts';
import type { ChangeEntry } from '../../gateway/api/operations/history/changes.ts';
import { tellStory } from './edition-story.ts';
import { codeOf, useService } from './service.ts';
import { sectionOf, textOf } from './site/page-text.ts';

const story = await tellStory();
afterAll(() => story.world.remove());
const service = await useService({ snapshots: story.world.settings.SNAPSHOT_DIR });
const owner = await service.account({ credits: 1_000_000 });

const ask = (path: string) => service.get(path, { key: owner.key });

type Row = Record<string, string | number | boolean | null>;
type Figures = Map<string, string>;

/** The figures of an answer, without its gaps: value, bounds and projected, by country and year. */
const figuresOf = (rows: readonly Row[]): Figures =>
  new Map(
    rows
      .filter(({ value }) => value !== null)
      .map((row) => [
        `${row.iso3} ${row.year}`,
        JSON.stringify([row.value, row.ci_lo, row.ci_hi, row.projected]),
      ]),
  );

async function dataOf(indicator: string, as_of?: string): Promise<Figures> {
  const answer = await ask(`/v1/data?indicator=${indicator}${as_of ? `&as_of=${as_of}` : ''}`);
  return answer.status === 404 ? new Map() : figuresOf(answer.json.data);
}

const side = (row: Row, when: 'old' | 'new'): string | null =>
  row[`${when}_value`] === null
    ? null
    : JSON.stringify(['value', 'ci_lo', 'ci_hi', 'projected'].map((name) => row[`${when}_${name}`]));

/** Carries out revisions, each of which must follow from what is there. */
function replay(before: Figures, revisions: readonly Row[]): Figures {
  const figures = new Map(before);
  for (const row of revisions) {
    const key = `${row.iso3} ${row.year}`;
    expect(figures.get(key) ?? null).toBe(side(row, 'old'));
    const now = side(row, 'new');
    if (now === null) figures.delete(key);
    else figures.set(key, now);
  }
  return figures;
}

const sorted = (figures: Figures) => Object.fromEntries([...figures].sort());
const PUBLISHED = ['atlas.cattle', 'atlas.goats', 'atlas.ewes', 'atlas.lamas'];

describe('revisions', () => {
  test.each(PUBLISHED)('of %s, replayed onto any earlier edition, give the last', async (indicator) => {
    const last = sorted(await dataOf(indicator));
    for (const edition of story.served) {
      const { json } = await ask(`/v1/revisions?indicator=${indicator}&since=${edition}`);
      const replayed = replay(await dataOf(indicator, edition), json.data);
      expect(sorted(replayed)).toEqual(last);
    }
  });

  test('name kind, values, bounds, status, and the two editions', async () => {
    const [first, second, third, fourth] = story.served;
    const { json, headers } = await ask('/v1/revisions?indicator=atlas.cattle');
    const none = {
      old_ci_lo: null,
      new_ci_lo: null,
      old_ci_hi: null,
      new_ci_hi: null,
      old_status: null,
      new_status: null,
    };
    expect(json.data).toEqual([
      {
        old_unit: 'head',
        new_unit: 'head',
        iso3: 'FRA',
        year: 2001,
        kind: 'changed',
        old_value: 52,
        new_value: 52.5,
        ...none,
        old_projected: false,
        new_projected: false,
        old_edition: first,
        new_edition: second,
      },
      {
        old_unit: 'head',
        new_unit: null,
        iso3: 'FRA',
        year: 2002,
        kind: 'withdrawn',
        old_value: 53,
        new_value: null,
        ...none,
        old_projected: false,
        new_projected: null,
        old_edition: first,
        new_edition: second,
      },
      expect.objectContaining({ year: 2002, kind: 'restored', old_edition: second, new_edition: third }),
      expect.objectContaining({ year: 2003, kind: 'added', new_value: 54 }),
      expect.objectContaining({ year: 2003, kind: 'changed', new_edition: fourth }),
    ]);
    expect(json.meta).toMatchObject({
      count: 5,
      indicator: 'atlas.cattle',
      name: 'Herd (head)',
      unit: 'head',
    });
    expect(headers['x-credits-charged']).toBe('5');
  });

  test('are those of countries by name; codes that no country has are named', async () => {
    const asked = (countries: string) => ask(`/v1/revisions?indicator=atlas.cattle&countries=${countries}`);
    const [byName, byCode] = [await asked('the+French+Republic,UK'), await asked('FRA,UK')];
    expect(byName.json.data.length).toBeGreaterThan(0);
    expect(byName.json).toEqual(byCode.json);
    for (const { headers } of [byName, byCode]) {
      expect(headers['x-unmatched-countries']).toBe('UK');
      expect(headers['access-control-expose-headers']).toContain('X-Unmatched-Countries');
    }
  });

  test('are those of listed years alone', async () => {
    const all = (await ask('/v1/revisions?indicator=atlas.cattle')).json.data;
    const [first, , ...others] = [...new Set<number>(all.map(({ year }: { year: number }) => year))].sort();
    const years = [first, ...others];
    const answer = await ask(`/v1/revisions?indicator=atlas.cattle&years=${years}`);
    expect(answer.json.data).toEqual(all.filter(({ year }: { year: number }) => years.includes(year)));
    expect([answer.json.data.length < all.length, answer.json.meta.years]).toEqual([true, years]);
    expect(answer.headers['x-credits-charged']).toBe(String(answer.json.data.length));
  });

  test('begin after `since`, which a day ends and a rolled-back edition passes on to the one before', async () => {
    const [, second] = story.served;
    const of = async (since: string) =>
      (await ask(`/v1/revisions?indicator=atlas.cattle&since=${encodeURIComponent(since)}`)).json;
    const after = await of(second ?? '');
    expect(after.data).toHaveLength(3);
    expect((await of('2026-11-21')).data).toEqual(after.data);
    expect((await of('2026-11-21T11:59:59+00:00')).data).toHaveLength(5);
    expect((await of(story.rolledBack)).data).toEqual(after.data);
    expect((await of('2020-01-01')).data).toHaveLength(5);
    expect(await of('2030-01-01')).toMatchObject({ data: [], meta: { count: 0, since: '2030-01-01' } });
  });

  test('cost a credit per row, at least one, and nothing when refused', async () => {
    const charged = async (path: string) => {
      const answer = await ask(path);
      return [answer.status, codeOf(answer) ?? null, answer.headers['x-credits-charged']];
    };
    expect(await charged('/v1/revisions?indicator=atlas.goats&since=2030-01-01')).toEqual([200, null, '1']);
    expect(await charged('/v1/revisions?indicator=globe.shown')).toEqual([403, 'export_restricted', '0']);
    expect(await charged('/v1/revisions?indicator=atlas.secret')).toEqual([404, 'indicator_not_found', '0']);
    expect(await charged('/v1/revisions?indicator=atlas.nothing')).toEqual([404, 'indicator_not_found', '0']);
    const unknown = '20200101T000000Z-00000000';
    expect(await charged(`/v1/revisions?indicator=atlas.goats&since=${unknown}`)).toEqual([
      ...[404, 'edition_not_found', '0'],
    ]);
    for (const fault of ['since=yesterday', 'from=2001&to=2000', 'countries=francia'])
      expect((await charged(`/v1/revisions?indicator=atlas.goats&${fault}`))[0]).toBe(422);
  });
});

test('the list of editions has all, newest first, with what they changed and whether they were rolled back', async () => {
  const { json } = await ask('/v1/editions');
  const ids = json.data.map(({ id }: Row) => id);
  expect(ids).toEqual([...story.served, story.rolledBack].sort().reverse());
  const byId = new Map(json.data.map((row: { id: string }) => [row.id, row]));
  expect(byId.get(story.rolledBack)).toMatchObject({
    rolled_back: true,
    never_served: false,
    base: story.served[1],
    rolled_back_at: '2026-11-23T12:00:00+00:00',
    rollback_reason: 'A column was read twice.',
  });
  expect(byId.get(story.served[1] ?? '')).toMatchObject({
    rolled_back: false,
    never_served: false,
    backfilled: false,
    base: story.served[0],
    rolled_back_at: null,
    rollback_reason: null,
    withheld: [],
    changed: { atlas: { added: 1, withdrawn: 1, renamed: 0, revised: 2, redefined: 0 } },
  });
  expect(byId.get(story.served[0] ?? '')).toMatchObject({ base: null, changed: {} });
});

describe('the log', () => {
  test('tells an edition that was never served from one that was rolled back', async () => {
    const file = join(story.world.settings.SNAPSHOT_DIR, PUBLICATION_LOG);
    const before = await readFile(file, 'utf8');
    const { editions, ...rest } = JSON.parse(before);
    const crashed = { ...editions.at(-1), edition: '20300101T000000Z-00000000', base: story.served.at(-1) };
    await writeFile(file, JSON.stringify({ editions: [...editions, crashed], ...rest }));
    await service.snapshots.check();
    const { data } = (await service.get('/v1/editions')).json;
    expect(data[0]).toMatchObject({ id: crashed.edition, never_served: true, rolled_back: false });
    const standing = (await service.get('/v1/indicators?as_of=2030-01-02')).headers['x-snapshot'];
    expect(standing).toBe(story.served.at(-1));
    await writeFile(file, before);
    await service.snapshots.check();
  });

  test('may get earlier editions while a snapshot is served: cached answers are made again', async () => {
    const count = async () => (await service.get('/v1/editions')).json.meta.count;
    for (let call = 0; call < 3; call += 1) expect(await count()).toBe(6);
    const file = join(story.world.settings.SNAPSHOT_DIR, PUBLICATION_LOG);
    const before = await readFile(file, 'utf8');
    const { editions, ...rest } = JSON.parse(before);
    const earlier = { edition: '20200101T000000Z-00000000', published_at: '2020-01-01T00:00:00+00:00' };
    const made = { ...editions[0], ...earlier, backfilled: true };
    await writeFile(file, JSON.stringify({ editions: [...editions, made], ...rest }));
    await service.snapshots.check();
    expect(await count()).toBe(7);
    const { json } = await service.get('/v1/editions');
    expect(json.data.at(-1)).toMatchObject({ id: earlier.edition, backfilled: true, rolled_back: false });
    await writeFile(file, before);
    await service.snapshots.check();
    expect(await count()).toBe(6);
  });
});

describe('the page of an indicator', () => {
  const historyOf = async (id: string): Promise<string> => {
    const { status, text } = await service.get(`/indicators/${id}`);
    expect(status).toBe(200);
    return textOf(sectionOf(text, 'history'));
  };

  test('lists the editions that changed its figures, also under its former id', async () => {
    const [, second, third, fourth, fifth] = story.served;
    const history = await historyOf('atlas.cattle');
    const listed = [...history.matchAll(/\d{8}T\d{6}Z-[0-9a-f]{8}/g)].map(([id]) => id);
    expect(listed).toEqual([fourth, third, second]);
    expect(history).toContain('renamed; 1 figures changed, 0 added, 0 withdrawn');
    expect(history).toContain('1 figures changed, 0 added, 1 withdrawn');
    expect(await historyOf('atlas.ewes')).toContain(String(fifth));
    const { text } = await service.get('/indicators/atlas.cows');
    expect(text).toMatch(/<link rel="canonical" href="[^"]*\/indicators\/atlas\.cattle">/);
    expect(textOf(text)).toContain('This indicator had the id atlas.cows');
  });

  test('is not there for what may not be shown today', async () => {
    for (const id of ['atlas.secret', 'atlas.lamas', 'atlas.kids'])
      expect([id, (await service.get(`/indicators/${id}`)).status]).toEqual([id, 404]);
  });
});

/** Former ids of the story. */
const FORMER: Record<string, string> = { 'atlas.cattle': 'atlas.cows', 'atlas.ewes': 'atlas.sheep' };

/** What an entry of the list of changes says of an indicator; null for nothing. */
function toldOf({ edition, published_at, added, withdrawn, renamed, revised }: ChangeEntry, id: string) {
  const isOne = (name: string): boolean => name === id || name === FORMER[id];
  const event = renamed.some(({ to }) => isOne(to))
    ? 'renamed'
    : added.some(isOne)
      ? 'added'
      : withdrawn.some(isOne)
        ? 'withdrawn'
        : null;
  const { indicator: _, ...counts } = revised.find(({ indicator }) => isOne(indicator)) ?? {};
  const figures = Object.keys(counts).length === 0 ? null : counts;
  return event === null && figures === null
    ? []
    : [{ edition, published_at, event, revised: figures, redefined: null }];
}

test('include=editions lists of every indicator the editions that changed it, as the list of changes tells', async () => {
  const { data: entries }: { data: ChangeEntry[] } = (await service.get('/v1/changes')).json;
  const { data: records } = (await service.get('/v1/indicators?include=editions')).json;
  expect(records.length).toBeGreaterThan(2);
  expect(records.some(({ editions }: { editions: unknown[] }) => editions.length > 2)).toBe(true);
  for (const { id, editions } of records) {
    expect([id, editions]).toEqual([id, entries.flatMap((entry) => toldOf(entry, id))]);
  }
});

describe('the list of changes', () => {
  const changes = async (query = '') => (await ask(`/v1/changes${query}`)).json;

  test('has an entry for each edition, under the decisions of today', async () => {
    const { data, meta } = await changes();
    expect(data.map(({ edition }: Row) => edition)).toEqual(story.served.toReversed());
    const [fifth, fourth, third, second, first] = data;
    expect(first).toMatchObject({ base: null, added: [], revised: [] });
    expect(second).toMatchObject({
      added: ['atlas.lamas'],
      withdrawn: ['atlas.goats'],
      renamed: [],
      revised: [{ indicator: 'atlas.cows', added: 0, changed: 1, withdrawn: 1, restored: 0 }],
    });
    expect(third).toMatchObject({ base: story.served[1], added: ['atlas.goats'], withdrawn: [] });
    expect(fourth).toMatchObject({ added: [], withdrawn: [] });
    expect(fourth.renamed).toEqual([
      { from: 'atlas.cows', to: 'atlas.cattle' },
      { from: 'atlas.sheep', to: 'atlas.ewes' },
    ]);
    expect(fifth).toMatchObject({ withdrawn: ['atlas.lamas'] });
    const at = '2026-11-23T12:00:00+00:00';
    const rollbacks = [
      { from: story.rolledBack, to: story.served[1], at, reason: 'A column was read twice.' },
    ];
    expect(meta).toMatchObject({ count: 5, more: false, rollbacks, withheld: [] });
    expect((await changes('?since=2026-11-23T11:59:59Z')).meta).toMatchObject({ rollbacks });
    expect((await changes(`?since=${story.served[2]}`)).meta).toMatchObject({ rollbacks: [] });
    expect(JSON.stringify(data)).not.toContain('secret');
  });

  test('goes on after `since`, and is cached by its tag', async () => {
    const { data } = await changes(`?since=${story.served[2]}`);
    expect(data.map(({ edition }: Row) => edition)).toEqual([story.served[4], story.served[3]]);
    const { headers } = await service.get('/v1/changes');
    const again = await service.get('/v1/changes', { headers: { 'If-None-Match': String(headers.etag) } });
    expect(again.status).toBe(304);
  });

  test('is an Atom feed as well, with ids that stay', async () => {
    const { text, headers } = await service.get('/v1/changes?format=atom');
    expect(headers['content-type']).toBe('application/atom+xml; charset=utf-8');
    expect(text).toMatch(
      /^<\?xml version="1.0" encoding="utf-8"\?>\n<feed xmlns="http:\/\/www.w3.org\/2005\/Atom">/,
    );
    const ids = [...text.matchAll(/<id>(urn:uuid:[0-9a-f-]{36})<\/id>/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(6);
    const later = await service.get(`/data/api/v1/changes?format=atom&since=${story.served[3]}`);
    expect([...later.text.matchAll(/<id>([^<]*)<\/id>/g)].map(([, id]) => id)).toEqual(ids.slice(0, 2));
    expect(text).not.toContain('secret');
    expect((await service.get('/v1/changes?format=rss')).status).toBe(422);
  });
});

describe('a former id', () => {
  const PATHS = [
    '/v1/data?indicator=atlas.cows',
    '/v1/data?indicator=atlas.cows&format=csv',
    '/v1/rankings/atlas.cows',
    '/v1/revisions?indicator=atlas.cows',
    '/v1/indicators/atlas.cows',
    '/v1/indicators/atlas.cows?include=sources',
  ];

  test.each(PATHS)('answers as the one of today: %s', async (path) => {
    const [former, today] = [await ask(path), await ask(path.replace('cows', 'cattle'))];
    expect([former.status, former.text]).toEqual([200, today.text]);
    expect(former.headers.deprecation).toBe(`@${Date.UTC(2026, 10, 24) / 1000}`);
    expect(former.headers.sunset).toBe('Thu, 25 Nov 2027 00:00:00 GMT');
    const links = [former.headers.link].flat();
    expect(links).toContain(`<${path.replace('cows', 'cattle')}>; rel="successor-version"`);
    expect(String(former.headers['access-control-expose-headers'])).toContain('Deprecation');
    expect(today.headers).not.toHaveProperty('deprecation');
    expect(today.headers).not.toHaveProperty('sunset');
  });

  test('has the receipts of the id of today, which name the id that the edition had', async () => {
    const keys = parseKeys((await service.get('/.well-known/almanac-keys.json')).text);
    for (const [night, id] of story.served.entries()) {
      const path = `/v1/receipts?indicator=atlas.cows&country=FRA&year=2000&as_of=${id}`;
      const [former, today] = [await ask(path), await ask(path.replace('cows', 'cattle'))];
      expect([former.status, former.text]).toEqual([200, today.text]);
      expect(former.headers.deprecation).toBe(`@${Date.UTC(2026, 10, 24) / 1000}`);
      const { descriptor, edition } = verifyReceipt(former.text, keys);
      const held = night < 3 ? 'atlas.cows' : 'atlas.cattle';
      expect([descriptor.indicator, edition.edition]).toEqual([held, id]);
    }
  });

  test('has no sunset until one is decided, and answers no more after it', async () => {
    const open = await ask('/v1/indicators/atlas.sheep');
    expect(open.headers).toMatchObject({ deprecation: `@${Date.UTC(2026, 10, 24) / 1000}` });
    expect(open.headers).not.toHaveProperty('sunset');
    expect(codeOf(await ask('/v1/indicators/atlas.kids'))).toBe('indicator_not_found');
  });

  test('stands for the id of today in every edition, and the other way round', async () => {
    const [first] = story.served;
    for (const path of PATHS.filter((one) => !one.includes('revisions'))) {
      const asOf = `${path}${path.includes('?') ? '&' : '?'}as_of=${first}`;
      const [former, today] = [await ask(asOf), await ask(asOf.replace('cows', 'cattle'))];
      expect([today.status, today.text]).toEqual([200, former.text]);
      expect(today.text).not.toContain('atlas.cows');
    }
    const list = await ask(`/v1/indicators?as_of=${first}`);
    expect(list.json.data.map(({ id }: Row) => id).sort()).toEqual([
      ...['atlas.cattle', 'atlas.ewes', 'atlas.goats', 'globe.shown'],
    ]);
    const profile = await ask(`/v1/countries/FRA?as_of=${first}`);
    expect(JSON.stringify(profile.json.data.topics)).toContain('"atlas.cattle"');
  });
});

describe('claims', () => {
  const judged = async (claim: string) => (await ask(`/v1/verify?claim=${claim}`)).json.data[0];

  test('that were right in an earlier edition are superseded, also before the series was renamed', async () => {
    const [first, second, third, fourth] = story.served;
    const before = await judged('atlas.cattle,FRA,2001,52.0');
    expect(before).toMatchObject({ verdict: 'superseded', value: 52.5, indicator: 'atlas.cattle' });
    expect(before.earlier).toEqual({ value: 52, unit: 'head', edition: first, superseded_by: second });
    const renamed = await judged('atlas.cattle,FRA,2003,54.0');
    expect(renamed.earlier).toEqual({ value: 54, unit: 'head', edition: third, superseded_by: fourth });
  });

  test('on a former id are judged as on the one of today, and told so', async () => {
    const { json, headers } = await ask(
      '/v1/verify?claim=atlas.cattle,FRA,2001,52.5&claim=atlas.cows,FRA,2001,52.5',
    );
    const [today, former] = json.data;
    expect(former).toEqual({ ...today, claim: 'atlas.cows,FRA,2001,52.5' });
    expect(former).toMatchObject({ verdict: 'exact', indicator: 'atlas.cattle' });
    expect(headers.deprecation).toBe(`@${Date.UTC(2026, 10, 24) / 1000}`);
    expect(headers.link).toContain('rel="successor-version"');
    expect((await ask('/v1/verify?claim=atlas.cattle,FRA,2001,52.5')).headers.deprecation).toBeUndefined();
  });

  test.each(['atlas.lamas,FRA,2000,57', 'atlas.secret,FRA,2000,59', 'atlas.kids,FRA,2000,54'])(
    'on a series that is not served today are unknown, whatever editions hold: %s',
    async (claim) => {
      expect(await judged(claim)).toMatchObject({ verdict: 'unknown', unknown: 'indicator', value: null });
    },
  );
});
