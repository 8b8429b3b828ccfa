/** A page about something that the edition does not list. */
import type { Shown } from './page.ts';

/** Of what was sent, when it is shown again. */
const SENT_MAX = 100;

/** @param what in words: `indicator`; @param instead where to go on. */
export const missingPage = (what: string, sent: string, instead: { path: string; label: string }): Shown => ({
  template: 'not-found.njk',
  title: `No such ${what}`,
  description: `There is no ${what} at this address.`,
  section: 'none',
  status: 404,
  data: {
    message: `There is no ${what} “${sent.slice(0, SENT_MAX)}” in this edition. It may have been withdrawn, or the address may be misspelt.`,
    links: [instead],
  },
});
