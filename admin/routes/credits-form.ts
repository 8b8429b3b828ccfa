/** The form that adjusts credits: what it holds, and what it takes. */
import { CREDITS_AT_MOST } from '../../gateway/accounts/validation.ts';

export interface CreditsForm {
  delta: string;
  reason: string;
  /** Makes sending the form twice the same as once. */
  idem: string;
  problem: string;
}

const grouped = new Intl.NumberFormat('en');

/** The number that was typed, or the sentence that says why it cannot be taken. */
export function checkedDelta(typed: string): number | string {
  const text = typed.trim().replace(/^[−–]/, '-');
  if (!/^[+-]?\d+$/.test(text)) return 'Credits must be a whole number, such as 500 or -500.';
  const delta = Number(text);
  if (delta === 0) return 'An adjustment of zero changes nothing.';
  if (Math.abs(delta) > CREDITS_AT_MOST) return `At most ${grouped.format(CREDITS_AT_MOST)} at once.`;
  return delta;
}
