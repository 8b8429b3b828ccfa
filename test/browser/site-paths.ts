import { FIXTURE_ID } from '../gateway/fixture-snapshot.ts';

/** A page of each kind that the site has, of the fixture. */
export const SITE_PAGES: [name: string, path: string][] = [
  ['site-home', '/'],
  ['site-indicators', '/indicators?q=life&provider=alpha'],
  ['site-indicator', '/indicators/alpha.life_expectancy?countries=KEN,DEU,QQ'],
  ['site-indicator-edition', `/indicators/alpha.life_expectancy/editions/${FIXTURE_ID}`],
  ['site-display-only', '/indicators/gamma.reserves'],
  ['site-countries', '/countries'],
  ['site-country', '/countries/KEN'],
  ['site-compare', '/compare?countries=KEN,DEU,USA&indicators=alpha.life_expectancy'],
  ['site-topics', '/topics'],
  ['site-topic', '/topics/health'],
  ['site-providers', '/providers'],
  ['site-provider', '/providers/beta'],
  ['site-pricing', '/pricing'],
  ['site-status', '/status'],
  ['site-terms', '/terms'],
  ['site-contact', '/contact'],
  ['site-missing', '/countries/ZZZ'],
  ['docs', '/docs'],
  ['docs-quick-start', '/docs/quick-start'],
  ['docs-webhooks', '/docs/webhooks'],
  ['docs-errors', '/docs/errors'],
  ['docs-reference', '/docs/reference'],
  ['docs-reference-getData', '/docs/reference/getData'],
];
