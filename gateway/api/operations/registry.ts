/** Every public operation. Adapters derive their routes, tools and documentation from this list. */

import { ping } from './account/ping.ts';
import { usage } from './account/usage.ts';
import { catalog } from './catalogue/catalog.ts';
import { citations } from './catalogue/citations.ts';
import { countries } from './catalogue/countries.ts';
import { country } from './catalogue/country.ts';
import { coverage } from './catalogue/coverage.ts';
import { database } from './catalogue/database.ts';
import { descriptions } from './catalogue/descriptions.ts';
import { freshness } from './catalogue/freshness.ts';
import { groups } from './catalogue/groups.ts';
import { indicator } from './catalogue/indicator.ts';
import { indicators } from './catalogue/indicators.ts';
import { topics } from './catalogue/topics.ts';
import { changes } from './history/changes.ts';
import { editions } from './history/editions.ts';
import { revisions } from './history/revisions.ts';
import { data } from './observations/data.ts';
import { files } from './observations/files.ts';
import { rankings } from './observations/rankings.ts';
import type { Operation } from './operation.ts';
import { consistency } from './proofs/consistency.ts';
import { receipts } from './proofs/receipts.ts';
import { verify } from './proofs/verify.ts';

export const OPERATIONS: readonly Operation[] = [
  countries,
  country,
  groups,
  indicators,
  indicator,
  topics,
  freshness,
  coverage,
  editions,
  changes,
  catalog,
  rankings,
  data,
  ...files,
  revisions,
  receipts,
  consistency,
  verify,
  usage,
  ping,
  ...citations,
  ...descriptions,
  database,
];
