/**
 * Connections: hosts of language models, to whom a person gave access to an account by OAuth 2.1, for `/mcp` alone.
 *
 * - A client is known by a document at its own https address, or registered itself a short while ago. Where an answer may go is
 *   exactly what it stated; an answer goes nowhere else, and every one names this server (`iss`).
 * - A connection is allowed by a member who may make keys, with a monthly limit and an end, and stands beside the keys of the
 *   account. Metering counts and charges it as it does a key.
 * - Codes and refresh tokens work once. What comes again ends the connection, but for a refresh whose answer may have been lost.
 * - Redis has digests of codes and tokens, and state, rules and month of a connection in one hash of its account; each change is one
 *   script. An ended connection, a suspended account or a member who left counts from the next call on.
 */
export * from './authorizations.ts';
export * from './clients.ts';
export * from './connection-store.ts';
export * from './oauth-routes.ts';
export { redirectHost } from './redirects.ts';
