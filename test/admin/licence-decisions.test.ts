/** Series that are withheld for their licence: listed, decided, and published as decided. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replaceEntries } from '../../admin/decision-store.ts';
import { cells } from '../build/world.ts';
import { wordsOf } from './harness.ts';
import { startLiveArea } from './live-area.ts';

const LENT = 'atlas.lent';
const PATH = `/admin/licences/${LENT}`;

const one = { name: 'One', cells: cells(2, (place, year) => place + year / 10) };
const lent = { ...one, name: 'Lent', source: 'Estimates of IHME' };
const definitions = { atlas: {}, shown: { access_tier: 'display' }, closed: { redistributable: false } };
const area = await startLiveArea(definitions, { atlas: { one, lent }, shown: { lent }, closed: { one } });
afterAll(() => area.stop());

/** Id, who withholds it, decision and whether it is pending. */
async function list(state: string): Promise<string[][]> {
  const { html } = await area.operator.get(`/admin/licences?state=${state}&format=csv`);
  const rows: string[][] = parse(html, { from: 2 });
  return rows.map(([id = '', , , , by = '', decision = '', pending = '']) => [id, by, decision, pending]);
}

const decide = (publish: string, more: Record<string, string> = {}, path = PATH) =>
  area.operator.submit(path, path, {
    publish,
    licence: '',
    licence_url: '',
    attribution: '',
    ...more,
  });

/** With the version of the decision that the page shows. */
async function decideAsShown(publish: string, more: Record<string, string> = {}, path = PATH) {
  const [, seen = ''] = /name="seen" value="(\d*)"/.exec((await area.operator.get(path)).html) ?? [];
  return decide(publish, { seen, ...more }, path);
}

async function call(path: string) {
  await area.service.snapshots.check();
  return area.call<{ meta: Record<string, unknown> }>(path);
}
const status = async (more = ''): Promise<number> => (await call(`/v1/data?indicator=${LENT}${more}`)).status;

it('lists what is withheld by the terms of collectors and providers, undecided', async () => {
  await area.operator.submit('/admin/rebuild', '/admin/rebuild', { reason: 'to report what is left out' });
  await expect.poll(async () => (await list('any')).length).toBe(3);
  expect(await list('undecided')).toEqual([
    [LENT, expect.stringMatching(/^Institute for Health Metrics/), 'undecided', 'false'],
    ['closed.one', 'The closed: CC BY 4.0', 'undecided', 'false'],
    ['shown.lent', expect.stringMatching(/^Institute for Health Metrics/), 'undecided', 'false'],
  ]);
  expect((await area.operator.get('/admin/indicators?state=not+redistributable')).html).toContain(PATH);
});

it.each([
  ['no reason', 'open', { licence: 'By letter' }, 'Reason: say why'],
  ['no licence', 'open', { reason: 'They said so.' }, 'Licence: name the licence'],
  [
    'a link that is none',
    'open',
    { licence: 'L', reason: 'r', licence_url: 'javascript:1' },
    'Link of the licence',
  ],
])('refuses %s, and keeps what was typed', async (_, publish, fields, problem) => {
  const page = await decideAsShown(publish, fields);
  expect([page.status, wordsOf(page).includes(problem)]).toEqual([422, true]);
  for (const typed of Object.values(fields)) expect(page.html).toContain(`value="${typed}"`);
  expect(await list('undecided')).toHaveLength(3);
});

it.each([
  ['shown.lent', 'open', 'The shown allows no wider access than display'],
  ['closed.one', 'display', 'The closed allows no wider access than none'],
])('publishes %s not wider than its provider allows', async (id, publish, problem) => {
  const page = await decideAsShown(publish, { licence: 'L', reason: 'r' }, `/admin/licences/${id}`);
  expect([page.status, wordsOf(page).includes(problem)]).toEqual([422, true]);
});

it('publishes under the licence of the decision, and withholds again from every snapshot', async () => {
  expect(await status()).toBe(404);
  const reason = 'Letter of 1 May.';
  const done = await decideAsShown('open', { licence: 'By letter', attribution: 'IHME', reason });
  expect([done.status, done.location]).toEqual([303, PATH]);
  await expect.poll(() => status()).toBe(200);
  const { body } = await call(`/v1/data?indicator=${LENT}`);
  expect(body.meta).toMatchObject({ licence: 'By letter', licence_url: null, attribution: 'IHME' });
  expect((await call(`/v1/indicators/${LENT}?include=sources`)).text).toContain(reason);
  const edition = `&as_of=${(await area.world.snapshots.currentId()) ?? ''}`;
  expect(await status(edition)).toBe(200);
  expect(await list('open')).toEqual([[LENT, '', 'open', 'false']]);

  await decideAsShown('display', { licence: 'By letter', reason: 'Downloads were not meant.' });
  await expect.poll(() => status()).toBe(403);
  expect(await status(edition)).toBe(403);

  await decideAsShown('withhold', { reason: 'They changed their mind.' });
  await expect.poll(() => status()).toBe(404);
  expect(await status(edition)).toBe(404);
  await expect
    .poll(() => list('withhold'))
    .toEqual([[LENT, 'They changed their mind.', 'withhold', 'false']]);
  const history = wordsOf(await area.operator.get(PATH));
  expect(history.match(/licence\.decide/g)).toHaveLength(3);
});

it('confirms a withholding, and refuses a form that does not know it', async () => {
  const path = '/admin/licences/closed.one';
  await decideAsShown('withhold', { reason: 'No agreement yet.' }, path);
  expect((await list('withhold')).map(([id]) => id)).toEqual([LENT, 'closed.one']);
  const stale = await decide('withhold', { seen: '', reason: 'Somebody else' }, path);
  expect(stale.status).toBe(409);
  expect((await list('withhold'))[1]?.[1]).not.toContain('Somebody else');
  expect((await area.operator.get('/admin/licences/atlas.one')).status).toBe(404);
});

const GROUP = '/admin/licences/collectors/decide';
/** The terms of IHME, as the build names them. */
let IHME = '';

/** What is typed to decide all series of IHME in a state. */
const typed = (of: string, publish: string, more: Record<string, string> = {}) => ({
  collector: IHME,
  provider: '',
  of,
  publish,
  reason: 'Letter of 1 May.',
  licence: publish === 'withhold' ? '' : 'By letter',
  licence_url: '',
  attribution: '',
  ...more,
});
const preview = (fields: Record<string, string>) =>
  area.operator.get(`${GROUP}?${new URLSearchParams(fields)}`);
async function decideGroup(fields: Record<string, string>) {
  const page = await preview(fields);
  const [, seen = ''] = /name="seen" value="([0-9a-f]{64})"/.exec(page.html) ?? [];
  return { page, send: () => area.operator.submit(GROUP, GROUP, { ...fields, seen }) };
}
const statusOf = async (id: string) => (await call(`/v1/indicators/${id}`)).status;

describe('by collector', () => {
  beforeAll(async () => {
    const { html } = await area.operator.get('/admin/licences?state=any&format=csv');
    const rows: string[][] = parse(html, { from: 2 });
    IHME = rows.find(([id]) => id === 'shown.lent')?.[4] ?? '';
  });

  it('lists the collectors with the states of their series, decided ones too', async () => {
    const page = wordsOf(await area.operator.get('/admin/licences/collectors'));
    expect(page).toContain(`${IHME} Provider atlas, Provider shown 1 0 0 1`.replaceAll('Provider', 'The'));
    expect((await preview({ collector: 'Nobody' })).status).toBe(404);
  });

  it('previews what changes and changes nothing, until it is confirmed', async () => {
    const before = await list('any');
    const { page, send } = await decideGroup(typed('undecided', 'display'));
    expect(wordsOf(page)).toContain('1 series becomes display only. They are shown on pages');
    expect(wordsOf(page)).toContain('withheld display Decide and rebuild');
    expect(await list('any')).toEqual(before);
    expect((await send()).status).toBe(303);
    await expect.poll(() => statusOf('shown.lent')).toBe(200);
    expect((await call('/v1/data?indicator=shown.lent')).status).toBe(403);
    expect(wordsOf(await area.operator.get('/admin/licences/shown.lent'))).toContain('licence.decide');
    const [entry] = (await area.service.audit.page({ subject: `licences of ${IHME}` })).entries;
    expect(entry).toMatchObject({ action: 'licences.decide', after: { publish: 'display', series: 1 } });
  });

  it('takes it back on the same page', async () => {
    const { page, send } = await decideGroup(typed('display', 'withhold'));
    expect(wordsOf(page)).toContain('1 series becomes withheld. They vanish');
    await send();
    await expect.poll(() => statusOf('shown.lent')).toBe(404);
    expect(await preview(typed('display', 'withhold')).then(wordsOf)).toContain(
      'No series of this collector is display.',
    );
  });

  it('leaves what its provider does not allow, and says so before', async () => {
    const { page, send } = await decideGroup(typed('withhold', 'open'));
    expect(wordsOf(page)).toContain('1 series becomes open.');
    expect(wordsOf(page)).toContain('1 series stays as before');
    await send();
    await expect.poll(() => statusOf(LENT)).toBe(200);
    expect(await statusOf('shown.lent')).toBe(404);
    expect(wordsOf(await preview(typed('withhold', 'open')))).toContain('allow none of these series as open');
  });

  it.each([
    ['no reason', { reason: '' }, 'Reason: say why'],
    ['no licence', { licence: '' }, 'Licence: name the licence'],
  ])('refuses %s', async (_, more, problem) => {
    expect(wordsOf(await preview(typed('withhold', 'display', more)))).toContain(problem);
    const sent = await area.operator.submit(GROUP, GROUP, {
      ...typed('withhold', 'display', more),
      seen: '',
    });
    expect(sent.status).toBe(422);
  });

  it('decides nothing once somebody else has decided one of them', async () => {
    const { send } = await decideGroup(typed('withhold', 'display'));
    await decideAsShown('withhold', { reason: 'Still no agreement.' }, '/admin/licences/shown.lent');
    const before = await list('any');
    expect((await send()).status).toBe(409);
    expect(await list('any')).toEqual(before);
  });

  it('stores all decisions of a step or none, and the same step again', async () => {
    const { client } = area.service;
    const store = (read: string) =>
      replaceEntries(client, 'entries', [
        { id: 'one', read: '', next: 'decided' },
        { id: 'two', read, next: 'decided' },
      ]);
    await client.hset('entries', 'two', 'by another');
    expect([await store(''), await client.hgetall('entries')]).toEqual([false, { two: 'by another' }]);
    const both = { one: 'decided', two: 'decided' };
    for (let time = 0; time < 2; time += 1)
      expect([await store('by another'), await client.hgetall('entries')]).toEqual([true, both]);
  });
});
