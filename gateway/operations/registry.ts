/** The eleven public routes. */
import { ping, usage } from './account.ts';
import { countries } from './countries.ts';
import { country } from './country.ts';
import { data } from './data.ts';
import { indicator } from './indicator.ts';
import { indicators } from './indicators.ts';
import { coverage, freshness, topics } from './lists.ts';
import type { Route } from './operation.ts';
import { rankings } from './rankings.ts';

export const ROUTES: readonly Route[] = [
  countries,
  country,
  indicators,
  indicator,
  topics,
  freshness,
  coverage,
  rankings,
  data,
  usage,
  ping,
];

/** Every route is served under both; the machine-readable description lists the second. */
export const PREFIXES = ['/v1', '/data/api/v1'] as const;
export const DOCUMENTED_PREFIX = '/data/api/v1';
