/** The page of feed links: made once from a pasted call, listed with their use, revoked, and gone with keys, members and accounts. */
import { describe, expect, it } from 'vitest';
import { accountSubject } from '../../../../gateway/commerce/history/audit-log.ts';
import { wordsOf } from '../../../admin/harness.ts';
import { type Customer, useAccountPages } from './harness.ts';
import { readExport } from './read-export.ts';

const PATH = '/account/feeds';
const CALL = '/v1/data?indicator=alpha.life_expectancy&countries=KEN,DEU';
const DAY_MS = 86_400_000;

const harness = await useAccountPages();
const ann = await harness.customer('Ann');
const key_id = await keyIdOf(ann);

async function keyIdOf(customer: Customer): Promise<string> {
  return (await harness.makeKey(customer, { label: 'sheets' })).key.split('_')[2] ?? '';
}

/** What the form sends, with the key that was made last. */
const fields = (more: Record<string, string> = {}): Record<string, string> => ({
  call: CALL,
  name: 'Life in two countries',
  key: key_id,
  format: 'csv',
  cap: '500',
  expires: '',
  ...more,
});

/** @returns the page, and the URL that it shows; empty where it was refused */
async function makeFeed({ visitor }: Customer, more: Record<string, string> = {}) {
  const page = await visitor.submit(PATH, PATH, fields(more));
  return { page, url: /http:[^<"]+\/feed\/[^<"&]+/.exec(page.html)?.[0] ?? '' };
}

const fetched = async (url: string): Promise<[number, string]> => {
  const answer = await fetch(url);
  return [answer.status, await answer.text()];
};
const feedsOf = ({ account_id }: Customer) => harness.context.feeds.list(account_id);
/** By name: links of one moment have no order. */
const statesOf = async (customer: Customer) =>
  Object.fromEntries((await feedsOf(customer)).map(({ name, state }) => [name, state]));

/** The rows of `/v1/data`, as CSV. */
async function rowsOf(customer: Customer): Promise<string> {
  const { key } = await harness.makeKey(customer);
  const answer = await fetch(`${harness.url}${CALL}&format=csv`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return answer.text();
}

describe('making a link', () => {
  it('shows its URL once, with what it costs and how sheets take it, and lists its use without it', async () => {
    const { page, url } = await makeFeed(ann);
    expect(page.status).toBe(200);
    const [, csv] = await fetched(url);
    expect(csv).toBe(await rowsOf(ann));
    const price = csv.trimEnd().split('\n').length - 1;
    const words = wordsOf(page);
    for (const said of [
      `Its first fetch costs ${price} credits`,
      'shown only once',
      'From Web',
      'External Links',
    ])
      expect(words).toContain(said);
    expect(page.html).toContain(`=IMPORTDATA("${url}")`);
    await fetched(url);
    const list = await ann.visitor.get(PATH);
    const secret = url.split('/feed/')[1]?.split('.')[0] ?? '';
    expect(list.html).not.toContain(secret);
    expect(wordsOf(list)).toContain(
      `Life in two countries, …${secret.slice(-4)}.csv ${CALL.replace('&', '&amp;')}`,
    );
    expect(wordsOf(list)).toContain(`by ${ann.email}`);
    expect(wordsOf(list)).toMatch(new RegExp(`2026-11-21 12:00:20 UTC 2 ${price} of 500 never Revoke`));
    for (const honest of [
      'paid when its content changes, not by fetch',
      'may log it',
      'do not: spreadsheets fetch from anywhere',
    ])
      expect(wordsOf(list)).toContain(honest);
  });

  it.each([
    ['a URL with its format', `${'https://almanac.example'}${CALL}&format=csv`],
    ['a command', `curl -H "Authorization: Bearer $ALMANAC_KEY" 'https://almanac.example${CALL}'`],
    ['a link of another page', CALL],
  ])('takes %s', async (_what, call) => {
    const { page, url } = await makeFeed(ann, { call });
    expect([page.status, (await fetched(url))[0]]).toEqual([200, 200]);
  });

  it('is filled in with the call of a link that leads here, for whoever signs in on the way', async () => {
    const path = `${PATH}?call=${encodeURIComponent(CALL)}`;
    const escaped = CALL.replace('&', '&amp;');
    expect((await ann.visitor.get(path)).html).toContain(`>${escaped}</textarea>`);
    expect((await ann.visitor.get(`${path}%26format%3Dxlsx`)).html).toContain('<option selected>xlsx');
    const other = harness.visitor();
    expect((await other.get(path)).html).toContain(`value="${path.replaceAll('&', '&amp;')}"`);
  });

  it.each([
    [{ call: '/v1/nothing' }, 'Call: '],
    [{ call: '/v1/data?indicator=alpha.nothing' }, 'alpha.nothing'],
    [{ call: `${CALL}&from=x` }, 'from'],
    [{ name: '' }, 'Name: '],
    [{ cap: '0' }, 'Monthly cap: '],
    [{ cap: '1' }, 'more than the cap'],
    [{ format: 'pdf' }, 'Format: '],
    [{ expires: '2026-11-20' }, 'must expire in the future'],
    [{ key: 'nokey' }, 'Choose one of your active keys'],
  ])('%o is refused with what was expected, and the form keeps it', async (more, problem) => {
    const before = await feedsOf(ann);
    const { page, url } = await makeFeed(ann, more);
    expect([page.status, url]).toEqual([422, '']);
    expect(wordsOf(page)).toContain(problem);
    expect(page.html).toContain(`value="${fields(more).cap}"`);
    expect(await feedsOf(ann)).toEqual(before);
  });

  it('asks for a key first where there is none', async () => {
    const zoe = await harness.customer('Zoe');
    expect(wordsOf(await zoe.visitor.get(PATH))).toContain('A feed link is paid by a key. Create one first.');
  });
});

describe('an ended link', () => {
  it('is dead from the next fetch on once it is revoked, which asks first, and nobody else can revoke it', async () => {
    const bob = await harness.customer('Bob');
    const { url } = await makeFeed(bob, { key: await keyIdOf(bob), name: 'Mine' });
    const [{ feed_id } = { feed_id: '' }] = await feedsOf(bob);
    const path = `${PATH}/${feed_id}/revoke`;
    for (const page of [await ann.visitor.get(path), await ann.visitor.submit(PATH, path, {})])
      expect(page.status).toBe(404);
    expect(wordsOf(await bob.visitor.get(path))).toContain('Revoke link permanently');
    expect((await fetched(url))[0]).toBe(200);
    expect((await bob.visitor.submit(path, path, {})).location).toBe(PATH);
    const [status, said] = await fetched(url);
    expect([status, said.includes('KEN')]).toEqual([404, false]);
    expect(await statesOf(bob)).toEqual({ Mine: 'revoked' });
    expect((await bob.visitor.get(PATH)).html).not.toContain(`${feed_id}/revoke`);
    const entries = await harness.context.audit.list({ subject: accountSubject(bob.account_id) });
    expect(entries.slice(0, 2)).toMatchObject([
      { action: 'feed.revoke', before: { feed_id, state: 'active' }, after: { feed_id, state: 'revoked' } },
      { action: 'feed.create', after: { feed_id, format: 'csv', monthly_cap: 500 } },
    ]);
  });

  it('ends with its key, and on its last day', async () => {
    const cid = await harness.customer('Cid');
    const key = await keyIdOf(cid);
    const kept = await makeFeed(cid, { key, expires: '2026-11-22', name: 'Short' });
    const keyed = await makeFeed(cid, { key: await keyIdOf(cid), name: 'Keyed' });
    const { key_id: revoked } = (await feedsOf(cid)).find(({ name }) => name === 'Keyed') ?? {};
    const path = `/account/keys/${revoked}/revoke`;
    expect(wordsOf(await cid.visitor.get(path))).toContain('and its feed links, are refused');
    await cid.visitor.submit(path, path, {});
    expect((await fetched(keyed.url))[0]).not.toBe(200);
    expect((await fetched(kept.url))[0]).toBe(200);
    harness.clock.ms += 2 * DAY_MS;
    expect((await fetched(kept.url))[0]).toBe(404);
    harness.clock.ms -= 2 * DAY_MS;
  });
});

describe('of those who go', () => {
  it('a member’s links end with the member’s keys, and only where the owner wants it', async () => {
    const owner = await harness.customer('Olga');
    const key = await keyIdOf(owner);
    for (const [name, keys] of [
      ['stays', 'keep'],
      ['ends', 'revoke'],
    ] as const) {
      const guest = await harness.guest(owner, 'developer');
      await makeFeed(guest, { key, name });
      const path = `/account/members/${guest.person_id}/remove`;
      expect(wordsOf(await owner.visitor.get(path))).toContain(
        '0 active keys and 1 feed link made by this person',
      );
      await owner.visitor.submit(path, path, { keys });
    }
    expect(await statesOf(owner)).toEqual({ stays: 'active', ends: 'revoked' });
    expect(wordsOf(await owner.visitor.get('/account/members'))).toContain('1 feed link is revoked.');
  });

  it('an account’s links are in its export without their secrets, and gone with it', async () => {
    const eve = await harness.customer('Eve');
    const { url } = await makeFeed(eve, { key: await keyIdOf(eve), name: 'Of Eve Achterberg' });
    const secret = url.split('/feed/')[1]?.split('.')[0] ?? '-';
    await fetched(url);
    const lists = await readExport(await eve.visitor.download(await harness.exported(eve)));
    expect(lists['feed-links']).toMatchObject([
      { name: 'Of Eve Achterberg', query: CALL, fetches: 1, state: 'active' },
    ]);
    expect(JSON.stringify(lists)).not.toContain(secret);
    expect(JSON.stringify(lists['feed-links'])).not.toMatch(/digest|secret/);
    expect(await harness.keysContaining(secret), 'nothing in Redis holds the secret').toEqual({});
    const { removed } = await harness.erase(eve.account_id);
    expect(removed).toMatchObject({ keys: 1, feeds: 1 });
    expect((await fetched(url))[0]).toBe(404);
    expect(await harness.keysContaining('Achterberg')).toEqual({});
    expect(await feedsOf(eve)).toEqual([]);
  });
});
