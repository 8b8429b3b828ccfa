/** docs/webhooks.md describes each type of event, and no other, with an example of its shape. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { eventRow, WEBHOOK_EVENTS } from '../../../../gateway/commerce/notifications/catalogue.ts';
import { files, read } from '../../../style/repository.ts';

const page = read('docs/webhooks.md');
const [, described = ''] = /<!-- events -->(.*)<!-- \/events -->/s.exec(page) ?? [];
const sections = described.split(/^### /m).slice(1);
const example = z.strictObject({ type: z.string(), timestamp: z.iso.datetime(), data: z.unknown() });

it('lists the types in their order', () => {
  expect(sections.map((section) => /^`(.+)`/.exec(section)?.[1])).toEqual(
    WEBHOOK_EVENTS.map(({ type }) => type),
  );
});

it.each(WEBHOOK_EVENTS)('$type is described and has an example as it is sent', ({ type, help }) => {
  const section = sections.find((one) => one.startsWith(`\`${type}\``)) ?? '';
  expect(section).toContain(`${help}.`);
  const given = example.parse(JSON.parse(/```json\n(.*)```/s.exec(section)?.[1] ?? ''));
  expect(given.type).toBe(type);
  // Sent numbers are numbers, although scripts may have written text.
  expect(eventRow({ type })?.data.parse(given.data)).toEqual(given.data);
});

it('knows every event that a script writes', () => {
  const scripts = files.filter((path) => path.endsWith('.lua'));
  const written = scripts.flatMap((path) => [...read(path).matchAll(/type = '([a-z]+\.[a-z]+)'/g)]);
  expect(written.map(([, type = '']) => type).filter((type) => eventRow({ type }) === null)).toEqual([]);
});
