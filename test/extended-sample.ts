/**
 * The extended tests that `.ci/run` runs, for some minutes of two cores: a provider of the mirror, a kill of each kind, a
 * walk of each area in the browser, and each foreign reader once.
 */
export const EXTENDED_SAMPLE: readonly string[] = [
  // The mirror
  'test/build/connectors/who-gho-mirror.extended.test.ts',
  // Kills: of a build, of a restore, of changes to the store, of the worker, of Redis and the gateway
  'test/build/killed-build.extended.test.ts',
  'test/build/backup/killed.extended.test.ts',
  'test/build/editions/retention.extended.test.ts',
  'test/build/jobs/worker-process.extended.test.ts',
  'test/gateway/kills.extended.test.ts',
  // The files that a call executes
  'test/journeys/journeys.extended.test.ts',
  // Nights: what was served, which figures may be published, what operators decide; versions of what is stored; prices
  'test/nights/truth.extended.test.ts',
  'test/build/editions/publish.extended.test.ts',
  'test/build/editions/publication-rules.extended.test.ts',
  'test/build/editions/operator-decisions.extended.test.ts',
  'test/build/editions/log-signer.extended.test.ts',
  'test/gateway/process/store-version.extended.test.ts',
  'test/gateway/derived-prices.extended.test.ts',
  // Areas: operators, accounts, site
  'test/browser/admin-decisions.extended.test.ts',
  'test/browser/keys.extended.test.ts',
  'test/browser/keyboard.extended.test.ts',
  'test/browser/site.extended.test.ts',
  'test/browser/docs.extended.test.ts',
  'test/gateway/site/png.extended.test.ts',
  // Foreign readers: of receipts, of whole files, of every format, of citations; clients of both languages, of others, MCP
  'test/data/proofs/python.extended.test.ts',
  'test/gateway/api/files/remote.extended.test.ts',
  'test/gateway/api/formats/parity.extended.test.ts',
  'test/gateway/citations.extended.test.ts',
  'test/clients/python.extended.test.ts',
  'test/clients/typescript.extended.test.ts',
  'test/gateway/clients/generated-clients.extended.test.ts',
  'test/gateway/api/mcp/clients.extended.test.ts',
];
