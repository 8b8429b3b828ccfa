/**
 * Overrides of indicators from the form to every public route, with a real build, job worker and gateway. Edits and
 * unpublished indicators survive a nightly run with new figures and can be undone.
 */
import { readdir } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { cells } from '../build/world.ts';
import { startLiveArea } from './live-area.ts';

const [KEPT, HIDDEN, OTHER] = ['atlas.kept', 'atlas.hidden', 'globe.other'];
const EDIT = { name: 'Name by an operator', description: 'Description by an operator', unit: 'mm' };

/** Upstream figures that start at `base`. */
function upstream(base: number, name: string) {
  const figures = cells(2, (place, year) => base + place + year / 10);
  return {
    atlas: { kept: { name, unit: 'cm', cells: figures }, hidden: { name: 'Hidden', cells: figures } },
    closed: { secret: { name: 'Secret', cells: figures } },
    globe: { other: { name: 'Other', cells: figures } },
  };
}

const definitions = { atlas: {}, globe: {}, closed: { redistributable: false } };
const area = await startLiveArea(definitions, upstream(1, 'Kept'));
const { world, service, operator, jobService } = area;
afterAll(() => area.stop());

/** The used part of a response. */
interface Row {
  id?: string;
  indicator?: string;
  iso3?: string;
  slug?: string;
  name?: string;
  value?: number;
  rank?: number | null;
}
interface Body {
  data: Row[] & { topics: Record<string, Row[]> };
  meta: { name?: string; topic_counts?: Record<string, number> };
}

const call = (path: string) => area.call<Body>(path);

/** Waits until the served indicators' names by id meet a condition. */
async function served(condition: (names: Record<string, string | undefined>) => boolean): Promise<void> {
  const look = async () => {
    await service.snapshots.check();
    const { body } = await call('/v1/indicators');
    return condition(Object.fromEntries(body.data.map(({ id, name }) => [id, name])));
  };
  await expect.poll(look).toBe(true);
}

const ids = (items: Row[] = []) => items.map(({ id, indicator }) => id ?? indicator).sort();

/** Checks every public route with KEPT edited and HIDDEN published or not. */
async function expectPublic({ hidden, value }: { hidden: 'gone' | 'there'; value: number }): Promise<void> {
  const shown = hidden === 'there' ? [HIDDEN, KEPT, OTHER] : [KEPT, OTHER];
  for (const prefix of ['/v1', '/data/api/v1']) {
    const get = (path: string) => call(prefix + path);
    const list = await get('/indicators');
    expect(ids(list.body.data)).toEqual(shown);
    expect((await get(`/indicators?q=${EDIT.name.replaceAll(' ', '+')}`)).body.data).toMatchObject([
      { id: KEPT, ...EDIT },
    ]);
    expect((await get(`/indicators/${KEPT}`)).body.data).toMatchObject(EDIT);
    expect((await get(`/rankings/${KEPT}`)).body.meta).toMatchObject({ name: EDIT.name, unit: EDIT.unit });
    const data = (await get(`/data?indicator=${KEPT}&countries=AFG&from=2001`)).body;
    expect([data.meta.name, data.data[0]?.value]).toEqual([EDIT.name, value]);
    const country = (await get('/countries/AFG')).body;
    expect(ids(country.data.topics.economy)).toEqual(shown);
    expect(country.data.topics.economy?.find((item) => item.indicator === KEPT)).toMatchObject({
      name: EDIT.name,
      value,
    });
    expect(country.meta.topic_counts).toEqual({ economy: shown.length });
    const topics = (await get('/topics')).body.data;
    expect(topics.find(({ slug }) => slug === 'economy')).toMatchObject({
      n_indicators: shown.length,
    });
    const coverage = (await get('/meta/coverage')).body.data.find(({ iso3 }) => iso3 === 'AFG');
    expect(coverage).toMatchObject({ n_indicators: shown.length, n_observations: 2 * shown.length });
    const about = await Promise.all(
      [`/indicators/${HIDDEN}`, `/rankings/${HIDDEN}`, `/data?indicator=${HIDDEN}`].map(get),
    );
    expect(about.map(({ status }) => status)).toEqual(Array(3).fill(hidden === 'there' ? 200 : 404));
    if (hidden === 'there') continue;
    expect(about.map(({ charged }) => charged)).toEqual(['0', '0', '0']);
    const others = [
      '/countries',
      '/meta/freshness',
      '/usage',
      '/ping',
      `/indicators/${KEPT}`,
      `/indicators/${OTHER}`,
    ];
    for (const { text } of [list, ...(await Promise.all(others.map(get)))])
      expect(text).not.toContain(HIDDEN);
  }
  const files = await readdir((await world.served()).directory, { recursive: true });
  expect(files.some((file) => file.includes(HIDDEN))).toBe(hidden === 'there');
}

const post = (id: string, what: string, fields: Record<string, string>) =>
  operator.submit(`/admin/indicators/${id}`, `/admin/indicators/${id}${what}`, fields);

it('edits and unpublished indicators show on every public route after a rebuild and a nightly run, until undone', async () => {
  await post(KEPT, '', EDIT);
  await post(HIDDEN, '/toggle', { to: 'disabled', reason: 'test' });
  await served((names) => names[KEPT] === EDIT.name && !(HIDDEN in names));
  await expectPublic({ hidden: 'gone', value: 1.1 });

  world.tomorrow();
  for (const [id, series] of Object.entries(upstream(1.01, 'Kept, renamed upstream')))
    await world.publish(id, series);
  await jobService.nightly({ by: 'test' });
  // A rebuild of the toggle above may publish first.
  const figure = async () => {
    await service.snapshots.check();
    return (await call(`/v1/data?indicator=${KEPT}&countries=AFG&from=2001`)).body.data[0]?.value;
  };
  await expect.poll(figure).toBe(1.01 + 0.1);
  await expectPublic({ hidden: 'gone', value: 1.01 + 0.1 });
  const listOf = async (state: string) =>
    (await operator.get(`/admin/indicators?state=${state}&format=csv`)).html.trim().split('\r\n').slice(1);
  expect(await listOf('not+redistributable')).toEqual([
    expect.stringMatching(/^closed\.secret,Secret,.*,closed,not redistributable,[^,]+: [^,]+$/),
  ]);
  expect(await listOf('disabled')).toEqual([expect.stringMatching(/^atlas\.hidden,/)]);
  expect((await operator.get('/admin/indicators')).html).not.toContain('/admin/indicators/closed.secret');
  const page = await operator.get(`/admin/indicators/${HIDDEN}`);
  expect([page.status, page.html.includes('disabled')]).toEqual([200, true]);

  await post(HIDDEN, '/toggle', { to: 'enabled' });
  await served((names) => HIDDEN in names);
  await expectPublic({ hidden: 'there', value: 1.01 + 0.1 });

  await post(KEPT, '', { name: 'Kept, renamed upstream', description: '', unit: 'cm' });
  await served((names) => names[KEPT] === 'Kept, renamed upstream');
});

const formValue = async (name: string): Promise<string> => {
  const { html } = await operator.get(`/admin/indicators/${KEPT}`);
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
};

it('edits of topic, direction, featured and rank reach the public routes', async () => {
  const edit = { topic: 'health', direction: 'lower', featured: 'yes', ranked: 'no' };
  await post(KEPT, '', { ...EDIT, ...edit });
  await served((names) => names[KEPT] === EDIT.name);
  const record = (await call(`/v1/indicators/${KEPT}`)).body.data;
  const facts = { topic: 'health', higher_is_better: false, featured: true, no_rank: true };
  expect(record).toMatchObject({ ...EDIT, ...facts });
  const country = (await call('/v1/countries/AFG')).body;
  expect(ids(country.data.topics.health)).toEqual([KEPT]);
  expect((await call(`/v1/data?indicator=${KEPT}`)).body.data.map(({ rank }) => rank)).not.toContain(1);
  expect((await call(`/v1/data?indicator=${OTHER}`)).body.data.map(({ rank }) => rank)).toContain(1);
});

it('a restored original shows in the form at once, and survives unpublishing before the rebuild', async () => {
  // The served snapshot still has the edit until it is looked for.
  await post(KEPT, '', { name: 'Kept, renamed upstream', description: '', unit: 'cm' });
  expect(await formValue('name')).toBe('Kept, renamed upstream');
  expect((await call(`/v1/indicators/${KEPT}`)).body.data).toMatchObject({ name: EDIT.name });
  await post(KEPT, '/toggle', { to: 'disabled', reason: 'test' });
  await served((names) => !(KEPT in names));
  expect(await formValue('name')).toBe('Kept, renamed upstream');
  await post(KEPT, '/toggle', { to: 'enabled' });
  expect(await formValue('name')).toBe('Kept, renamed upstream');
  await post(KEPT, '/reset', {});
  await served((names) => names[KEPT] === 'Kept, renamed upstream');
});
