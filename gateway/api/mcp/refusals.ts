/** Refusals of an answer: so many that they fit beside figures, the others as a number. */
import type { Refusal } from './answer.ts';

/** With places of `PLACE_ECHO_MAX` characters, so many take at most half of an answer. */
const REFUSALS_MAX = 20;

/** How much of a place's name is repeated to whoever asked. */
export const PLACE_ECHO_MAX = 40;

export interface ListedRefusals {
  refusals: readonly Refusal[];
  refusals_left_off?: number;
}

export function listed(refusals: readonly Refusal[]): ListedRefusals {
  const shown = refusals.slice(0, REFUSALS_MAX);
  const left = refusals.length - shown.length;
  return left === 0 ? { refusals: shown } : { refusals: shown, refusals_left_off: left };
}

/** What an answer says that holds refusals alone. */
export function refusedText([first, ...others]: readonly Refusal[]): string {
  if (first === undefined) return 'No figure is held.';
  return others.length === 0
    ? first.message
    : `${first.message} And ${others.length} more: see \`refusals\`.`;
}
