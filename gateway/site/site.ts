/**
 * The public site: pages and pictures of the served edition, rendered at the first request and then served from the response
 * cache. The door of the room, with `assets.ts` for the static files that all HTML shares. Guarantees:
 *
 * - Pages show what the API holds and offer no way around it: a file has all countries of one year or all years of a few
 *   places, never a whole series, and what may be shown only is never offered as a file.
 * - Each page is complete without a script, holds nothing inline that the security policy refuses, and has one address.
 * - A picture is drawn by pure functions from the figures of the API, with its source and licence in it.
 * - Each page is an operation with the tag `Page`: the adapter serves, counts and caches it like a call that costs nothing.
 * - Prices and texts about the service come from the operations and the settings, never from a copy.
 */
import type { Operation } from '../api/operations/operations.ts';
import type { ServiceStatusReader } from '../api/status/status.ts';
import { renderPlain } from './page.ts';
import { compare } from './pages/compare.ts';
import { countries } from './pages/countries.ts';
import { country, countryTopic } from './pages/country.ts';
import { docs } from './pages/docs.ts';
import { downloads } from './pages/downloads.ts';
import { editionPage } from './pages/edition.ts';
import { home } from './pages/home.ts';
import { indicator } from './pages/indicator.ts';
import { indicatorEdition } from './pages/indicator-edition.ts';
import { indicators } from './pages/indicators.ts';
import { legalPages } from './pages/legal.ts';
import type { ApiReference } from './pages/openapi-text.ts';
import { cards, embed, mapClassesFile, pictures } from './pages/pictures.ts';
import { pricing } from './pages/pricing.ts';
import { provider, providers } from './pages/providers.ts';
import { referencePages } from './pages/reference.ts';
import { status } from './pages/status.ts';
import { suggest } from './pages/suggest.ts';
import { textFiles } from './pages/text-files.ts';
import { topic, topics } from './pages/topics.ts';
import type { ServiceFacts } from './service-facts.ts';

export { readAhead } from './pages/home.ts';
export { type SalesFacts, serviceFacts } from './service-facts.ts';

/** Pages of figures. */
export const SITE_PAGES: readonly Operation[] = [
  ...[indicators, indicator, indicatorEdition, editionPage, topics, topic, providers, provider],
  ...[countries, country, countryTopic, compare],
];

/** These and the pages about the service itself. */
export function sitePages(
  facts: ServiceFacts,
  api: ApiReference,
  service: ServiceStatusReader,
): readonly Operation[] {
  const about = [pricing(facts), status(facts, service), ...legalPages(facts)];
  const pages = [home(facts), ...SITE_PAGES, ...about, ...docs(facts), ...referencePages(facts, api)];
  return [
    ...pages,
    ...pictures,
    mapClassesFile,
    ...downloads,
    ...cards,
    embed,
    suggest,
    ...textFiles(facts, pages),
  ];
}

interface Problem {
  status: number;
  message: string;
  requestId: string;
}

const TITLES: Partial<Record<number, string>> = {
  404: 'Page not found',
  422: 'This address cannot be read',
  429: 'Too many requests',
  503: 'Temporarily unavailable',
};

/** A whole page, which depends on no edition. */
export const renderErrorPage = ({ status, message, requestId }: Problem): string =>
  renderPlain('error-page.njk', {
    title: TITLES[status] ?? 'Something went wrong',
    problem: { status, message, requestId },
  });
