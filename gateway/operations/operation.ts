/**
 * What a public route is: its place, its price, its parameters, its answer, and a handler that returns a value.
 *
 * A handler decides on what is in memory and on Parquet only. It never sees a key, a balance or a socket, never
 * throws for what a caller did, and never charges: `admission.ts` does, for all routes alike.
 */
import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { Body } from '../http/representation.ts';
import { JSON_TYPE } from '../http/representation.ts';
import type { ApiKey, Metering, Tier } from '../metering/metering.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { ValidationDetail } from './validation.ts';

/** What a handler decides from. */
export interface Call<Query> {
  snapshot: Snapshot;
  /** Path parameters, decoded, as sent. */
  path: Readonly<Record<string, string>>;
  query: Query;
}

/** The account behind an admitted request, for the routes that report on it. */
export interface Account {
  key: ApiKey;
  tier: Tier;
  balance: number;
  metering: Metering;
  /** Unix milliseconds. */
  now: number;
}

export type Outcome =
  /** A success that costs `price` credits and serves `rows` rows. */
  | { kind: 'answer'; body: Body; price: number; rows: number }
  /** A free success about the account itself, made after admission. */
  | { kind: 'account'; respond: (account: Account) => Body | Promise<Body> }
  /** Refused by what the snapshot holds, or by the value of a parameter. */
  | { kind: 'refusal'; code: ErrorCode; message?: string }
  | { kind: 'invalid'; detail: ValidationDetail[] };

/** A query schema is an object schema; its members are the parameters that the route knows. */
export type QuerySchema<Query> = z.ZodType<Query> & { shape: Readonly<Record<string, z.ZodType>> };

export interface PathParameter {
  description: string;
  example: string;
}

export interface Route<Query = unknown> {
  /** Without the version prefix: `/rankings/{indicator}`. */
  template: string;
  /** Name of the operation in the machine-readable description. */
  operation: string;
  tag: 'Catalogue' | 'Data' | 'Account';
  summary: string;
  description: string;
  key: 'optional' | 'required';
  /** The price as people read it. */
  price: string;
  /** True where answers come from the snapshot alone and any cache may keep them. */
  tagged: boolean;
  path: Readonly<Record<string, PathParameter>>;
  query: QuerySchema<Query>;
  /** The whole JSON body of a success. */
  answer: z.ZodType;
  /** A success may also be CSV. */
  csv?: { description: string; example: string };
  /** Refusals beyond those that every route of its kind has. */
  refusals: readonly ErrorCode[];
  handle(call: Call<Query>): Outcome | Promise<Outcome>;
}

/** Checks a definition against its own parameters and forgets them, so that routes of all kinds stand in one list. */
export function defineRoute<Query>(route: Route<Query>): Route {
  return route as Route<unknown>;
}

/** A JSON body made for this request. */
export const jsonBody = (text: string): Body => ({
  kind: 'bytes',
  type: JSON_TYPE,
  chunks: [Buffer.from(text)],
});

export const freeFile = (path: string): Outcome => ({
  kind: 'answer',
  body: { kind: 'file', path },
  price: 0,
  rows: 0,
});

/** `{ "data": [...], "meta": {...} }` from records that are JSON already. */
export const listBody = (records: readonly string[], meta: Record<string, unknown>): Body =>
  jsonBody(`{"data":[${records.join(',')}],"meta":${JSON.stringify(meta)}}`);

/** The filters that were sent, for `meta`: one that was not sent is absent, never null. */
export function sentOnly(filters: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}
