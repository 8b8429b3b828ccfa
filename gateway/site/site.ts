/**
 * The public face of the service: pages and pictures of the served edition, rendered at the first request and then
 * served from the response cache, complete without a script. They show what the API holds and offer no way around it:
 * figures are those of one edition and year, histories are pictures.
 */
import type { Operation } from '../api/operations/operation.ts';
import type { ServiceStatusReader } from '../api/status/status.ts';
import { cards } from './pages/cards.ts';
import { compare } from './pages/compare.ts';
import { countries } from './pages/countries.ts';
import { country, countryTopic } from './pages/country.ts';
import { docs } from './pages/docs.ts';
import { embed } from './pages/embed.ts';
import { home } from './pages/home.ts';
import { indicator } from './pages/indicator.ts';
import { indicators } from './pages/indicators.ts';
import { legalPages } from './pages/legal.ts';
import { llms } from './pages/llms.ts';
import { pictures } from './pages/pictures.ts';
import { pricing } from './pages/pricing.ts';
import { provider, providers } from './pages/providers.ts';
import { referencePages } from './pages/reference.ts';
import { robots } from './pages/robots.ts';
import { sitemaps } from './pages/sitemap.ts';
import { status } from './pages/status.ts';
import { suggest } from './pages/suggest.ts';
import { topic, topics } from './pages/topics.ts';
import type { ApiReference } from './reference/description.ts';
import type { ServiceFacts } from './service-facts.ts';
import { renderPlain } from './templates.ts';

/** Pages of figures. */
export const SITE_PAGES: readonly Operation[] = [
  ...[indicators, indicator, topics, topic, providers, provider],
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
    ...cards,
    embed,
    suggest,
    robots(facts),
    llms(facts),
    ...sitemaps(facts, pages),
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
