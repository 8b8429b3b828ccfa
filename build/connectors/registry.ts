/**
 * Every connector by the name that definitions use. A new upstream protocol is one file and one line here.
 */
import { createCombinedConnector } from './combined.ts';
import type { Connector } from './connector.ts';
import { ddf } from './ddf.ts';
import { frictionless } from './frictionless.ts';
import { npmPackage } from './npm-package.ts';
import { owidGrapher } from './owid-grapher.ts';
import { sdmxCsv } from './sdmx-csv.ts';
import { whoGho } from './who-gho.ts';
import { worldBankApi } from './world-bank-api.ts';
import { worldBankCsv } from './world-bank-csv.ts';

const SINGLE: readonly Connector[] = [
  ddf,
  frictionless,
  npmPackage,
  owidGrapher,
  sdmxCsv,
  whoGho,
  worldBankApi,
  worldBankCsv,
];

/** All connectors, the one that combines the others included. */
export const CONNECTORS: ReadonlyMap<string, Connector> = new Map(
  [...SINGLE, createCombinedConnector(findConnector)].map((connector) => [connector.protocol, connector]),
);

/**
 * The connector of one protocol.
 * @throws {RangeError} naming those that there are.
 */
export function findConnector(protocol: string): Connector {
  const connector = CONNECTORS.get(protocol);
  if (connector) return connector;
  throw new RangeError(`no connector "${protocol}"; there are: ${[...CONNECTORS.keys()].join(', ')}`);
}
