/**
 * How people get in: passwords, second factor, sessions, protected pages, and the links that are mailed to them.
 *
 * - Account holders and operators sign in by the same code, each in a realm with sessions and counters of its own.
 * - Neither an answer nor its timing tells whether an address is registered. Guesses are throttled by address and by
 *   e-mail address, but no stranger can lock the owner out of a known browser.
 * - Redis stores digests of session ids, recovery codes and passwords. Raising the epoch of a person ends all sessions.
 * - A POST needs the CSRF token of the session. A form that is sent twice is carried out once, and the repeat gets the
 *   answer of the first.
 * - A password is only ever set by whoever reads the mails of the address; that of a directory's reviewer by the command line,
 *   and it ends by itself. A mailed link works once.
 */
export * from './confirmation.ts';
export * from './email-changes.ts';
export * from './form-submissions.ts';
export * from './invitations.ts';
export * from './known-browsers.ts';
export * from './onboarding.ts';
export * from './passwords.ts';
export * from './pending-sign-ins.ts';
export * from './protected-area.ts';
export * from './second-factor.ts';
export * from './second-factor-routes.ts';
export * from './sessions.ts';
export * from './sign-in-routes.ts';
export * from './throttle.ts';
