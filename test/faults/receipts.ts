/** A dishonest log signs other trees than those of one figure for each country and year: verifiers refuse what it proves. */
import { forgeries, sound } from '../data/proofs/forgeries.ts';
import { outcomeOf, outcomeOfClient } from '../data/proofs/outcomes.ts';
import type { Evidence } from '../data/proofs/tampering.ts';
import { GENUINE } from '../data/proofs/vectors.ts';
import type { Reporter } from './table.ts';

export async function receiptsFaults(report: Reporter): Promise<void> {
  const forged = GENUINE.flatMap((one) => Object.values(forgeries(one)));
  const genuine = GENUINE.flatMap((one) => Object.values(sound(one)));
  const accepted = (await outcomesOf(forged)).filter((outcome) => outcome !== 'refused').length;
  const refused = (await outcomesOf(genuine)).filter((outcome) => outcome !== 'accepted').length;
  report(
    'A receipt with all rows proves the only figure of a country and year, whoever signed the tree',
    `${forged.length} forged, ${accepted} not refused; ${genuine.length} sound, ${refused} not accepted; by two verifiers`,
    accepted === 0 && refused === 0,
  );
}

const outcomesOf = (all: readonly Evidence[]): Promise<string[]> =>
  Promise.all(all.flatMap((evidence) => [outcomeOf(evidence), outcomeOfClient(evidence)]));
