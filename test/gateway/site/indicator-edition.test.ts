/** Citations lead to a page for readers, of the edition that was cited. */
import { afterAll, expect, test } from 'vitest';
import { tellStory } from '../edition-story.ts';
import { useService } from '../service.ts';
import { linksOf, rowsOf, sectionOf, textOf, valuesOf } from './page-text.ts';

const { world, served } = await tellStory();
afterAll(() => world.remove());
const service = await useService({ snapshots: world.settings.SNAPSHOT_DIR });
const { key } = await service.account({ credits: 10_000 });

/** The page that the citation of an edition leads to. */
async function cited(id: string, edition: string) {
  const { json } = await service.get(`/v1/indicators/${id}/citation.json?as_of=${edition}`);
  const { pathname } = new URL(json[0].URL);
  return { pathname, ...(await service.get(pathname)) };
}

test('a citation opens the figures of its edition, for every edition that has the series', async () => {
  const said = new Set<string>();
  for (const edition of served) {
    const { pathname, status, headers, text } = await cited('atlas.cattle', edition);
    expect([pathname, status, headers['content-type']]).toEqual([
      `/indicators/atlas.cattle/editions/${edition}`,
      ...[200, 'text/html; charset=utf-8'],
    ]);
    for (const year of [2000, 2001, 2002, 2003]) {
      const page = await service.get(`${pathname}?year=${year}`);
      const call = `/v1/rankings/atlas.cattle?year=${year}&as_of=${edition}`;
      const rows: { value: number | null }[] = (await service.get(call, { key })).json.data;
      const values = rows.flatMap(({ value }) => value ?? []);
      const ranking = sectionOf(page.text, 'ranking');
      const opened = textOf(text).includes(`Ranking, ${year}`);
      if (opened) expect([year, valuesOf(ranking).slice(-values.length)]).toEqual([year, values]);
      else expect([year, rowsOf(ranking).map((cells) => cells[2])]).toEqual([year, values.map(String)]);
      said.add(`${year} ${values}`);
    }
    expect(textOf(text)).toContain(`Edition ${edition}`);
    const { data } = (await service.get(`/v1/indicators/atlas.cattle?as_of=${edition}`)).json;
    expect(textOf(text)).toContain(data.attribution);
    for (const href of linksOf(text).filter((path) => path.startsWith('/') && !path.startsWith('/account')))
      expect([href, (await service.get(href)).status]).toEqual([href, 200]);
  }
  // The editions differ.
  expect(said.size).toBeGreaterThan(6);
});

test('it says what later editions changed, and nothing of those before', async () => {
  const count = async (edition: string) => {
    const section = sectionOf((await cited('atlas.cattle', edition)).text, 'since');
    return section.match(/<li>/g)?.length ?? 0;
  };
  const all = (await service.get('/indicators/atlas.cattle')).text;
  const changed = [...sectionOf(all, 'history').matchAll(/class="id faint">([^<]+)</g)].map(([, id]) => id);
  for (const [at, edition] of served.entries()) {
    const later = served.slice(at + 1).filter((one) => changed.includes(one));
    expect([edition, await count(edition)]).toEqual([edition, later.length]);
  }
  expect(textOf((await cited('atlas.cattle', served.at(-1) ?? '')).text)).toContain('served now');
});

test('a series that may only be shown has no figures there, and what is not shown today has no page', async () => {
  const [first = ''] = served;
  const shown = await service.get(`/indicators/globe.shown/editions/${first}`);
  expect([shown.status, valuesOf(shown.text), rowsOf(shown.text)]).toEqual([200, [], []]);
  expect(textOf(shown.text)).toContain('not passed on');
  expect((await service.get(`/indicators/globe.shown/editions/${first}?year=2000`)).text).not.toContain('51');
  expect((await service.get(`/indicators/atlas.secret/editions/${first}`)).status).toBe(404);
  expect((await service.get('/indicators/atlas.cattle/editions/nothing')).status).toBe(404);
});

test('the citation of an edition, or of a provider in it, opens its series with their pages', async () => {
  for (const edition of served)
    for (const cited of [
      `editions/${edition}/citation.json`,
      `providers/atlas/citation.json?as_of=${edition}`,
    ]) {
      const answer = await service.get(`/v1/${cited}`);
      const { pathname, search } = new URL(answer.json[0].URL);
      const { status, headers, text } = await service.get(pathname + search);
      expect([pathname, status, headers['content-type']]).toEqual([
        `/editions/${edition}`,
        ...[200, 'text/html; charset=utf-8'],
      ]);
      const list = `/v1/indicators?as_of=${edition}&limit=500${search.replace('?', '&')}`;
      const ids: string[] = (await service.get(list)).json.data.map(({ id }: { id: string }) => id);
      const pages = linksOf(sectionOf(text, 'all'));
      expect(pages.sort()).toEqual(ids.map((id) => `/indicators/${id}/editions/${edition}`).sort());
      for (const href of linksOf(text).filter((path) => /^\/(v1|indicators|editions)/.test(path)))
        expect([href, (await service.get(href)).status]).toEqual([href, 200]);
    }
  for (const missing of ['nothing', `${served[0]}?provider=nobody`, `${served[0]}?page=9`])
    expect((await service.get(`/editions/${missing}`)).status).toBe(404);
});
