/** docs/webhooks.md describes each type of event, and no other, with an example of its shape. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  ATTEMPTS,
  RETRY_DELAYS_MS,
} from '../../../../gateway/commerce/notifications/webhooks/delivery-queue.ts';
import { EVENT_TYPES } from '../../../../gateway/commerce/notifications/webhooks/event-types.ts';
import { read } from '../../../style/repository.ts';

const page = read('docs/webhooks.md');
const [, described = ''] = /<!-- events -->(.*)<!-- \/events -->/s.exec(page) ?? [];
const sections = described.split(/^### /m).slice(1);
const example = z.strictObject({ type: z.string(), timestamp: z.iso.datetime(), data: z.unknown() });

it('lists the types in their order', () => {
  expect(sections.map((section) => /^`(.+)`/.exec(section)?.[1])).toEqual(Object.keys(EVENT_TYPES));
});

it.each(Object.entries(EVENT_TYPES))(
  '%s is described and has an example as it is sent',
  (type, { help, data }) => {
    const section = sections.find((one) => one.startsWith(`\`${type}\``)) ?? '';
    expect(section).toContain(`${help}.`);
    const given = example.parse(JSON.parse(/```json\n(.*)```/s.exec(section)?.[1] ?? ''));
    expect(given.type).toBe(type);
    // Sent numbers are numbers, although scripts may have written text.
    expect(data.parse(given.data)).toEqual(given.data);
  },
);

it('has the delays between attempts', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| att') || line.startsWith('| after'));
  const [attempts = [], delays = []] = rows.map((row) =>
    row
      .split('|')
      .slice(2, -1)
      .map((cell) => cell.trim()),
  );
  expect(attempts.map(Number)).toEqual(Array.from({ length: ATTEMPTS - 1 }, (_, index) => index + 2));
  const units: Record<string, number> = { s: 1_000, min: 60_000, h: 3_600_000 };
  const in_ms = delays.map((delay) => {
    const [count, unit = ''] = delay.split(' ');
    return Number(count) * (units[unit] ?? Number.NaN);
  });
  expect(in_ms).toEqual(RETRY_DELAYS_MS);
});
