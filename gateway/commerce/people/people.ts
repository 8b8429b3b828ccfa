/**
 * How people get in: passwords, second factor, sessions, protected pages, and the links that are mailed to them.
 *
 * - Account holders and operators sign in by the same code, each in a realm with sessions and counters of its own.
 * - Neither an answer nor its timing tells whether an address is registered. Guesses are throttled by address and by
 *   e-mail address, but no stranger can lock the owner out of a known browser.
 * - Redis stores digests of session ids, recovery codes and passwords. Raising the epoch of a person ends all sessions.
 * - A POST needs the CSRF token of the session. A form that is sent twice is carried out once, and the repeat gets the
 *   answer of the first.
 * - A password is only ever set by whoever reads the mails of the address. A mailed link works once.
 */
export {
  type Confirmation,
  type ConfirmationPage,
  type ConfirmedAction,
  confirmationView,
  confirmedAction,
  counted,
  type Figure,
  formatChange,
  formatCount,
  OPTIONAL_REASON,
  type Outcome,
  REASON,
  type ReasonField,
} from './confirmation.ts';
export { EmailChanges } from './email-changes.ts';
export { FormSubmissions } from './form-submissions.ts';
export { Invitations, type OpenInvitation } from './invitations.ts';
export { KnownBrowsers } from './known-browsers.ts';
export { Onboarding, SIGN_IN_LINK_TTL_MS } from './onboarding.ts';
export { PASSWORD_LENGTH, passwordProblem } from './password-policy.ts';
export { PasswordHasher } from './passwords.ts';
export { PendingSignIns } from './pending-sign-ins.ts';
export {
  clearSessionCookie,
  createPageViews,
  installProtectedArea,
  type PageView,
  type ProtectedArea,
  redirectWithFlash,
  safeRedirectPath,
  sendSignInPage,
  setSessionCookie,
} from './protected-area.ts';
export { SecondFactorStore } from './second-factor.ts';
export { secondFactorRoutes } from './second-factor-routes.ts';
export { type ListedSession, type Session, SessionStore, type SignedInUser } from './sessions.ts';
export {
  completeFirstStep,
  rememberBrowser,
  type SignInAttempt,
  signInRoutes,
  tooManyAttempts,
} from './sign-in-routes.ts';
export { Throttle, type ThrottlePolicy } from './throttle.ts';
