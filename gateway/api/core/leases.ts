/**
 * Files are paid by lease: the price of the first call covers every other call for the same content for a day, up to
 * `LEASED_SIZES` times its size. A URL that names no edition is answered from one edition meanwhile, by a pin, so that the
 * parts that a client reads fit together. Metering decides about both.
 */

import type { FileAdmission, LeaseTerms } from '../metering/metering.ts';
import type { WholeFile } from '../operations/operation.ts';
import type { Call } from './call.ts';

export const LEASED_SIZES = 20;

/** What a plan says of its lease. */
export type PlannedLease = Omit<LeaseTerms, 'edition' | 'follows'>;

export const leaseOf = (
  { sha256, bytes: size }: WholeFile,
  bytes: number,
  controls: Pick<LeaseTerms, 'looks' | 'max_credits'>,
): PlannedLease => ({ object: sha256, bytes, allowance: LEASED_SIZES * size, ...controls });

/** Names the file whose edition may be pinned; null for other calls. */
export function pinOf(call: Call<unknown>): string | null {
  const { operation, path } = call;
  if (operation.isFile !== true) return null;
  const reading = call.readQuery();
  if (!reading.ok || operation.asOf?.(reading.values) !== undefined) return null;
  return [operation.name, ...Object.values(path)].join(' ');
}

/** Of a call whose plan has a lease. */
export const fileAdmission = (
  pin: string | null,
  lease: PlannedLease,
  { edition, follows }: Pick<LeaseTerms, 'edition' | 'follows'>,
): FileAdmission => ({ pin, lease: { ...lease, edition, follows } });
