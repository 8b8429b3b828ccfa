/** Edits of one indicator by two operators at once: nothing is lost, the original never, and nobody overwrites unseen. */
import fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseOverrides } from '../../data/schema/operator-changes.ts';
import { indicatorRecord } from '../../data/schema/records.ts';
import { redisKeys } from '../../data/schema/redis-keys.ts';
import { COUNTRIES, INDICATORS } from '../gateway/fixture-data.ts';
import { PASSWORD, type Page, useAdmin, type Visitor, wordsOf } from './harness.ts';

/** In no snapshot. */
const ID = 'atlas.gone';
const PATH = `/admin/indicators/${ID}`;
const ORIGINAL = {
  name: 'Original name',
  description: 'Original description',
  unit: 'cm',
  topic: 'economy',
  higher_is_better: null,
  featured: false,
  no_rank: false,
};

const service = await useAdmin();
const ann = await service.signedIn();
await service.operators.put('ben@example.org', 'operator', PASSWORD);
const ben = service.visitor();
await ben.signIn('ben@example.org', PASSWORD);

async function seedUnpublished(): Promise<void> {
  const stored = { enabled: false, original: ORIGINAL };
  await service.client.hset(redisKeys.overrides, ID, JSON.stringify(stored));
}

it('every indicator has a page, also one without a value', async () => {
  for (const { id } of INDICATORS)
    expect([id, (await ann.get(`/admin/indicators/${id}`)).status]).toEqual([id, 200]);
});

/** The fields of the page's edit form. */
function formOf({ html }: Page): Record<string, string> {
  const form = /<form[^>]* class="stack">([\s\S]*?)<\/form>/.exec(html)?.[1] ?? '';
  const inputs = form.matchAll(/<input[^>]* name="(\w+)" value="([^"]*)"/g);
  const selects = form.matchAll(/<select name="(\w+)">[\s\S]*?<option value="(\w+)" selected>/g);
  const texts = form.matchAll(/<textarea name="(\w+)"[^>]*>([^<]*)</g);
  return Object.fromEntries([...inputs, ...selects, ...texts].map(([, name, value]) => [name, value]));
}

/** The cells of a table's body. */
function tableRows({ html }: Page, label: string): string[][] {
  const body = html.split(`aria-label="${label}"`)[1]?.split('</tbody>')[0]?.split('<tbody>')[1] ?? '';
  return [...body.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell = '']) => cell),
  );
}

const action = fc.oneof(
  fc.record({ to: fc.constantFrom('enabled', 'disabled'), reason: fc.constant('test') }),
  fc.record({
    name: fc.constantFrom(ORIGINAL.name, 'By ann', 'By ben'),
    description: fc.constantFrom(ORIGINAL.description, ''),
    unit: fc.constantFrom(ORIGINAL.unit, 'm'),
  }),
);

it('an unpublished indicator keeps its original through any changes by two operators at once', async () => {
  const tokens = await Promise.all([ann, ben].map((visitor) => visitor.get('/admin/audit')));
  const _csrf = tokens.map(({ html }) => /name="_csrf" value="([^"]+)"/.exec(html)?.[1] ?? '');
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 8 }), async (actions) => {
      await seedUnpublished();
      const sent = actions.map((fields, index) =>
        [ann, ben][index % 2]?.post('to' in fields ? `${PATH}/toggle` : PATH, {
          _csrf: _csrf[index % 2] ?? '',
          ...fields,
        }),
      );
      for (const page of await Promise.all(sent)) expect(page?.status).toBe(303);
      expect((await ann.get(PATH)).status).toBe(200);
      await ann.submit('/admin/audit', PATH, { name: 'Edited', description: 'Edited', unit: 'km' });
      await ann.submit('/admin/audit', `${PATH}/toggle`, { to: 'disabled', reason: 'test' });
      await ben.submit('/admin/audit', `${PATH}/reset`, {});
      const { name, description, unit } = ORIGINAL;
      expect(formOf(await ben.get(PATH))).toMatchObject({ name, description, unit });
    }),
    { numRuns: 30 },
  );
});

describe('the edit form', () => {
  let id: string;
  let path: string;
  beforeAll(async () => {
    const [, first = ''] = (await ann.get('/admin/indicators?state=enabled&format=csv')).html.split('\r\n');
    id = first.split(',')[0] ?? '';
    path = `/admin/indicators/${id}`;
  });
  afterEach(async () => {
    await ann.submit('/admin/audit', `${path}/reset`, {});
  });

  const open = async (visitor: Visitor) => formOf(await visitor.get(path));
  const stored = async () => parseOverrides(await service.client.hgetall('overrides')).get(id);

  it('refuses a stale form, shows both values, and saves when sent again', async () => {
    const [seenByAnn, seenByBen] = [await open(ann), await open(ben)];
    await ann.post(path, { ...seenByAnn, name: 'By ann', unit: 'm' });
    const refused = await ben.post(path, { ...seenByBen, name: 'By ben', description: 'Also by ben' });
    expect(refused.status).toBe(409);
    const words = wordsOf(refused);
    expect(words).toContain('operator@example.org changed this indicator');
    expect(words).toContain('Name By ann By ben');
    expect(words).toContain('Unit m not changed by you');
    expect(await stored()).toEqual({ name: 'By ann', unit: 'm' });
    const again = formOf(refused);
    expect(again).toMatchObject({ name: 'By ben', description: 'Also by ben', unit: 'm' });
    expect((await ben.post(path, again)).status).toBe(303);
    expect(await stored()).toEqual({ name: 'By ben', description: 'Also by ben', unit: 'm' });
    const log = (await ann.get('/admin/audit?format=csv')).html;
    expect(log.match(new RegExp(`indicator.edit,indicator ${id}`, 'g'))).toHaveLength(2);
  });

  it('stores exactly one of many forms that are sent at once', async () => {
    const seen = await Promise.all([ann, ben, ann, ben].map(open));
    const names = seen.map((_, index) => `Name ${index}`);
    const pages = await Promise.all(
      seen.map((form, index) => [ann, ben][index % 2]?.post(path, { ...form, name: names[index] ?? '' })),
    );
    expect(pages.map((page) => page?.status).sort()).toEqual([303, 409, 409, 409]);
    const winner = names[pages.findIndex((page) => page?.status === 303)] ?? '';
    expect(await stored()).toEqual({ name: winner });
    for (const [index, page] of pages.entries())
      if (page?.status === 409) expect(wordsOf(page)).toContain(`Name ${winner} ${names[index]}`);
  });

  it('previews the public record and saves nothing', async () => {
    const form = await open(ann);
    const edits = { name: 'Previewed', topic: 'health', direction: 'lower', featured: 'yes', ranked: 'no' };
    const page = await ann.post(`${path}/preview`, { ...form, ...edits });
    expect(page.status).toBe(200);
    const json = /<pre[^>]*>([^<]*)<\/pre>/.exec(page.html)?.[1] ?? '';
    const record = JSON.parse(
      json.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&'),
    );
    expect(indicatorRecord.parse(record)).toMatchObject({
      id,
      name: 'Previewed',
      topic: 'health',
      higher_is_better: false,
      featured: true,
      no_rank: true,
    });
    const { _csrf, _idempotency } = formOf(page);
    expect(formOf(page)).toEqual({ ...form, ...edits, _csrf, _idempotency });
    expect(await stored()).toBeUndefined();
    // Back in the browser, the same form can be previewed again and saved.
    expect((await ann.post(`${path}/preview`, { ...form, unit: 'm' })).status).toBe(200);
    expect((await ann.post(path, { ...form, unit: 'm' })).status).toBe(303);
    expect(await stored()).toEqual({ unit: 'm' });
  });

  it('refuses values that are no choice, naming the field, and keeps the input', async () => {
    const form = await open(ann);
    for (const [field, value] of Object.entries({
      topic: 'weather',
      direction: 'up',
      featured: 'maybe',
      ranked: '1',
      name: ' ',
    })) {
      const page = await ann.post(path, { ...form, description: 'Kept input', [field]: value });
      expect([field, page.status]).toEqual([field, 422]);
      expect(wordsOf(page)).toMatch(
        field === 'name' ? /Enter a name/ : new RegExp(`${field}: choose one of`),
      );
      expect(formOf(page).description).toBe('Kept input');
    }
    expect(await stored()).toBeUndefined();
  });

  it('takes the texts of the form back unchanged, with the line breaks that browsers send', async () => {
    const described = { description: 'One\r\ntwo' };
    await ann.post(path, { ...(await open(ann)), ...described });
    expect((await ann.post(path, { ...(await open(ann)), ...described })).status).toBe(303);
    expect(wordsOf(await ann.get('/admin/audit'))).toContain('Nothing changed.');
  });

  it('shows the latest value of each country and how many countries each year has', async () => {
    for (const { id: shown, rows } of INDICATORS) {
      const page = await ann.get(`/admin/indicators/${shown}`);
      const values = rows.filter(({ value }) => value !== null);
      const latest = [...Map.groupBy(values, ({ iso3 }) => iso3)].map(([iso3, own]) => {
        const last = own.findLast(({ projected }) => !projected) ?? own.at(-1);
        const year = `${last?.year}${last?.projected ? ' (projected)' : ''}`;
        return [COUNTRIES.find((country) => country.iso3 === iso3)?.name, String(last?.value), year];
      });
      const shownRows = tableRows(page, 'Latest value of each country');
      expect(shownRows.map(([country, year, value]) => [country, value, year]).sort()).toEqual(latest.sort());
      const years = [...Map.groupBy(values, ({ year }) => year)].map(([year, of]) => [
        `${year}`,
        `${of.length}`,
      ]);
      const shownYears = tableRows(page, 'Countries with a value by year').filter(
        ([, count]) => count !== '0',
      );
      expect(shownYears).toEqual(years.sort(([a], [b]) => Number(a) - Number(b)));
    }
  });
});
