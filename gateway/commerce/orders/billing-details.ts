/** Whom invoices of an account are made out to: entered by its owner or a billing member, kept with each invoice. */
import { join } from 'node:path';
import { loadCountries } from '../../../data/curated/places.ts';
import { Problems } from '../../../data/curated/table.ts';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { badInput, guarded, Store } from '../store/store.ts';
import { linesOf } from './sales-terms.ts';
import { compactVatId, isVatId, vatPrefix } from './vat.ts';

// With these, the PDF keeps on one page.
const MAX_NAME = 100;
const MAX_LINE = 80;
const MAX_LINES = 6;

export interface Country {
  /** ISO 3166, two letters. */
  code: string;
  name: string;
}

/** Countries with a code, by name. @throws {CuratedError} naming file, line and reason. */
export function readCountries(curatedDir: string): Country[] {
  const problems = new Problems();
  const { countries } = loadCountries(join(curatedDir, 'countries.csv'), problems);
  problems.throwIfAny();
  return countries
    .flatMap(({ iso2, name }) => (iso2 === null ? [] : [{ code: iso2, name }]))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'));
}

/** As typed. */
export interface BillingForm {
  name: string;
  address: string;
  country: string;
  vat_id: string;
}

/** @throws {AccountError} `bad_input` naming the field and what is expected */
export function billingFrom(form: BillingForm, countries: readonly Country[]) {
  const name = form.name.trim();
  const address = linesOf(form.address);
  const country = countries.find(({ code }) => code === form.country);
  const vat_id = compactVatId(form.vat_id);
  if (name === '' || name.length > MAX_NAME)
    throw badInput(`Name: the name of a person or company, at most ${MAX_NAME} characters.`);
  if (address.length === 0 || address.length > MAX_LINES || address.some((line) => line.length > MAX_LINE))
    throw badInput(
      `Address: street, postcode and town, at most ${MAX_LINES} lines of ${MAX_LINE} characters.`,
    );
  if (!country) throw badInput('Country: one of the list.');
  if (vat_id !== '' && !isVatId(vat_id, country.code))
    throw badInput(
      `VAT id: empty, or the VAT id of ${country.name}, which begins with ${vatPrefix(country.code)}.`,
    );
  return {
    /** Person or company. */
    name,
    /** Street, postcode and town, one line each, without the country. */
    address,
    country: country.code,
    country_name: country.name,
    /** With its prefix, without spaces; empty without one. */
    vat_id,
  };
}
export type BillingDetails = ReturnType<typeof billingFrom>;

/** Null where none were entered. */
export async function readBilling(redis: RedisClient, account_id: string): Promise<BillingDetails | null> {
  const hash = await guarded(redis).hgetall(redisKeys.billing(account_id));
  if (!hash.name) return null;
  const { name, address = '', country = '', country_name = '', vat_id = '' } = hash;
  return { name, address: linesOf(address), country, country_name, vat_id };
}

export class BillingStore extends Store {
  get(account_id: string): Promise<BillingDetails | null> {
    return readBilling(this.redis, account_id);
  }

  /** Invoices that were issued keep what they say. @throws {AccountError} `account_unknown`, `account_state` */
  async set(account_id: string, details: BillingDetails): Promise<void> {
    const stored = { ...details, address: details.address.join('\n') };
    await this.setIfOpen(account_id, redisKeys.billing(account_id), stored);
  }
}
