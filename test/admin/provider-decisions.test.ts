/** Providers switched off and on, from the form to the public API and every snapshot. */
import { afterAll, expect, it } from 'vitest';
import { cells } from '../build/world.ts';
import { wordsOf } from './harness.ts';
import { startLiveArea } from './live-area.ts';

const PATH = '/admin/providers/atlas';
const SWITCH = `${PATH}/switch`;

const one = { name: 'One', cells: cells(2, (place, year) => place + year / 10) };
const area = await startLiveArea({ atlas: {}, globe: {} }, { atlas: { one }, globe: { other: one } });
afterAll(() => area.stop());

/** Follows the link of the page that switches the provider, and answers the question. */
async function flip() {
  const { html } = await area.operator.get(PATH);
  const [, link = ''] = /href="(\/admin\/providers\/atlas\/switch[^"]*)"/.exec(html) ?? [];
  const query = new URLSearchParams(link.replaceAll('&amp;', '&').split('?')[1]);
  return area.operator.submit(`${SWITCH}?${query}`, SWITCH, {
    ...Object.fromEntries(query),
    reason: 'asked by them',
  });
}

/** Status of a call for the indicator of the provider. */
const status = async (more = ''): Promise<number> => {
  await area.service.snapshots.check();
  return (await area.call(`/v1/data?indicator=atlas.one${more}`)).status;
};

it('a provider that is switched off vanishes from every snapshot, is read no more, and comes back', async () => {
  const [first] = (await area.world.snapshots.log()).editions;
  const earlier = `&as_of=${first?.edition}`;
  expect([await status(), await status(earlier)]).toEqual([200, 200]);
  expect(wordsOf(await area.operator.get(`${SWITCH}?to=off&seen=`))).toContain('1 indicator');

  expect((await flip()).location).toBe(PATH);
  await expect.poll(() => status()).toBe(404);
  expect(await status(earlier)).toBe(404);
  for (const path of ['/v1/indicators', '/v1/meta/freshness', '/v1/countries/FRA'])
    expect((await area.call(path)).text).not.toContain('atlas');
  const page = wordsOf(await area.operator.get(PATH));
  expect(page).toContain('disabled');
  expect(page).toContain('asked by them');
  expect(page).not.toContain('does not show this decision yet');

  await flip();
  await expect.poll(() => status()).toBe(200);
  expect(await status(earlier)).toBe(200);
});

it('a decision is shown as pending until a snapshot shows it, and is decided once', async () => {
  const { decisions } = area;
  const decided = { enabled: false, reason: 'held back', by: 'ann@example.org', decided_at_ms: 1 };
  await decisions.providers.replace([{ id: 'globe', seen: '', next: decided }]);
  const page = await area.operator.get('/admin/providers/globe');
  expect(wordsOf(page)).toContain('The served snapshot does not show this decision yet.');
  const stale = await area.operator.submit('/admin/', '/admin/providers/globe/switch', {
    to: 'on',
    seen: '',
    reason: 'did not see it',
  });
  expect(stale.status).toBe(409);
  expect(await decisions.providers.get('globe')).toEqual(decided);
  expect((await area.operator.get('/admin/providers?format=csv')).html).toMatch(
    /^globe,The globe,false,true,ann@example.org,held back,/m,
  );
});

it('needs a reason, and is for operators', async () => {
  const page = await area.operator.submit('/admin/', SWITCH, { to: 'off', seen: '', reason: ' ' });
  expect([page.status, wordsOf(page).includes('Give a reason.')]).toEqual([422, true]);
  expect((await area.operator.get(`${SWITCH}?to=sideways`)).status).toBe(422);
  expect((await area.operator.get('/admin/providers/nobody')).status).toBe(404);
});
