/** All connectors by protocol. A new protocol is one file and one line here. */
import { createCombinedConnector } from './combined.ts';
import type { Connector } from './connector.ts';
import { ddf } from './ddf.ts';
import { frictionless } from './frictionless.ts';
import { owidGrapher } from './owid-grapher.ts';
import { sdmxCsv } from './sdmx-csv.ts';
import { whoGho } from './who-gho.ts';
import { worldBankApi } from './world-bank-api.ts';
import { worldBankCsv } from './world-bank-csv.ts';

const ALL: readonly Connector[] = [
  ddf,
  frictionless,
  owidGrapher,
  sdmxCsv,
  whoGho,
  worldBankApi,
  worldBankCsv,
  createCombinedConnector(findConnector),
];

export const CONNECTORS: ReadonlyMap<string, Connector> = new Map(ALL.map((one) => [one.protocol, one]));

/** @throws {RangeError} for an unknown protocol. */
export function findConnector(protocol: string): Connector {
  const connector = CONNECTORS.get(protocol);
  if (connector) return connector;
  throw new RangeError(`no connector "${protocol}"; there are: ${[...CONNECTORS.keys()].join(', ')}`);
}
