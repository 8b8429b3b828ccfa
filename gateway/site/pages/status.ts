/** `/status`: what is served, since when, the last night, and how available the service was. `/status.json` as a page. */
import type { Operation } from '../../api/operations/operations.ts';
import {
  type DayOfAvailability,
  type ServiceStatus,
  type ServiceStatusReader,
  share,
} from '../../api/status/status.ts';
import { definePage } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

/** Days that are drawn, a bar each. */
const DRAWN_DAYS = 90;

export const status = (facts: ServiceFacts, service: ServiceStatusReader): Operation =>
  definePage({
    path: '/status',
    isCacheable: false,
    async show() {
      const state = await service.read();
      return {
        template: 'status.njk',
        title: 'Status',
        description: 'What this service serves today, since when, and how available it was.',
        section: 'none',
        canonical: '/status',
        data: { facts, state, night: nightText(state), availability: shownAvailability(state) },
      };
    },
  });

const NIGHT_TEXT: Partial<Record<string, string>> = {
  succeeded: 'Published',
  unchanged: 'Nothing changed, so nothing was published',
  failed: 'Failed; the edition before it is served',
};

const nightText = ({ last_night }: ServiceStatus): string | null =>
  last_night && (NIGHT_TEXT[last_night.state] ?? 'Held for an operator');

/** Rounded down, so that only a whole day reads as one. */
const percentText = (ratio: number): string => `${(Math.floor(ratio * 100_000) / 1000).toFixed(3)} %`;

const grade = (day: DayOfAvailability): 'full' | 'part' | 'down' => {
  if (day.available_minutes === day.minutes) return 'full';
  return day.available_minutes >= 0.99 * day.minutes ? 'part' : 'down';
};

/** By `2026-11`, newest first. */
function byMonth(days: readonly DayOfAvailability[]) {
  const names = new Set(days.map(({ date }) => date.slice(0, 7)));
  return [...names].toReversed().map((name) => {
    const members = days.filter(({ date }) => date.startsWith(name));
    const minutes = members.reduce((sum, day) => sum + day.minutes, 0);
    const available = members.reduce((sum, day) => sum + day.available_minutes, 0);
    return { name, minutes, unavailable: minutes - available, percent: percentText(available / minutes) };
  });
}

function shownAvailability({ availability }: ServiceStatus) {
  if (availability === null || availability.days.length === 0) return null;
  const { definition, days, since } = availability;
  const drawn = days.slice(-DRAWN_DAYS);
  return {
    definition,
    since,
    drawnShare: percentText(share(drawn) ?? 1),
    yearShare: percentText(share(days) ?? 1),
    first: drawn[0]?.date,
    last: drawn.at(-1)?.date,
    bars: Array.from({ length: DRAWN_DAYS }, (_none, index) => {
      const day = drawn[index - DRAWN_DAYS + drawn.length];
      return {
        grade: day ? grade(day) : 'none',
        text: day ? `${day.date}: ${percentText(day.available_minutes / day.minutes)}` : null,
      };
    }),
    interrupted: drawn.filter((day) => day.available_minutes < day.minutes).length,
    drawnDays: drawn.length,
    months: byMonth(days),
  };
}
