/** A cancelled run stops a connector between two batches and closes the upstream stream. */
import { expect, it } from 'vitest';
import type { Connector } from '../../../build/connectors/connector.ts';
import { frictionless } from '../../../build/connectors/frictionless.ts';
import { owidGrapher } from '../../../build/connectors/owid-grapher.ts';
import { sdmxCsv } from '../../../build/connectors/sdmx-csv.ts';
import type { Upstream } from '../../../build/upstream/upstream.ts';
import { contextFor } from './read-connector.ts';

const FIELDS = ['code', 'year', 'a', 'b'].map((name) => ({ name }));
const DESCRIPTORS: Record<string, string> = {
  'datapackage.json': JSON.stringify({
    name: 'p',
    resources: [{ path: 'd.csv', schema: { fields: FIELDS } }],
  }),
  'c.metadata.json': JSON.stringify({ columns: {} }),
};

/** An endless table; cancels the run after three batches. */
function endless(header: string, row: string, cancel: () => void): Upstream & { closed: boolean } {
  const upstream = {
    closed: false,
    stream: async () =>
      (async function* () {
        try {
          yield Buffer.from(`${header}\n`);
          for (let batch = 0; ; batch += 1) {
            if (batch === 3) cancel();
            yield Buffer.from(`${row}\n`.repeat(100));
          }
        } finally {
          upstream.closed = true;
        }
      })(),
    text: async (reference: string) => DESCRIPTORS[reference.replace(/\?.*$/, '')] ?? '',
  };
  return upstream;
}

const cases: [Connector, object, string, string][] = [
  [frictionless, {}, 'code,year,a,b', 'FRA,2000,1,2'],
  [owidGrapher, { charts: ['c'] }, 'Entity,Code,Year,a,b', 'France,FRA,2000,1,2'],
  [sdmxCsv, { files: ['d'] }, 'INDICATOR,REF_AREA,TIME_PERIOD,OBS_VALUE', 'I,FRA,2000,1'],
];

it.each(cases)('$protocol stops when cancelled', async (connector, settings, header, row) => {
  const controller = new AbortController();
  const upstream = endless(header, row, () => controller.abort(new Error('cancelled by the operator')));
  const reading = async (): Promise<void> => {
    for await (const item of connector.read(contextFor(connector, settings, upstream, controller.signal))) {
      expect(item.kind).not.toBe('failed');
    }
  };
  await expect(reading()).rejects.toThrow('cancelled by the operator');
  expect(upstream.closed).toBe(true);
});
