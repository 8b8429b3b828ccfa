/** Every public operation. Adapters derive their routes, tools and documentation from this list. */
import { catalog } from './catalog.ts';
import { changes } from './changes.ts';
import { citations } from './citations.ts';
import { consistency } from './consistency.ts';
import { countries } from './countries.ts';
import { country } from './country.ts';
import { coverage } from './coverage.ts';
import { data } from './data.ts';
import { database } from './database.ts';
import { descriptions } from './descriptions.ts';
import { editions } from './editions.ts';
import { files } from './files.ts';
import { freshness } from './freshness.ts';
import { groups } from './groups.ts';
import { indicator } from './indicator.ts';
import { indicators } from './indicators.ts';
import type { Operation } from './operation.ts';
import { ping } from './ping.ts';
import { rankings } from './rankings.ts';
import { receipts } from './receipts.ts';
import { revisions } from './revisions.ts';
import { topics } from './topics.ts';
import { usage } from './usage.ts';
import { verify } from './verify.ts';

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
