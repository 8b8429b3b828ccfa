/** Where people write to who have a question. */
import type { Settings } from '../../../../data/runtime/settings.ts';

/** The address, or the page that says how to reach the operator. @param publicUrl without a trailing slash */
export const contactOf = ({ CONTACT_EMAIL }: Pick<Settings, 'CONTACT_EMAIL'>, publicUrl: string): string =>
  CONTACT_EMAIL ?? `${publicUrl}/contact`;
