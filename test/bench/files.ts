/** Whole files and ranges of them, within a lease, beside bare node:http that streams the same bytes from disk. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { largestFile } from './data-queries.ts';
import { fetchWhole } from './http-client.ts';
import type { Row, Skipped } from './report.ts';
import type { Session } from './session.ts';

const AT_LEAST = 0.7;
const RANGE_BYTES = 64 * 1024;
/** As many clients as download whole indicators in the other rows. */
const CONNECTIONS = 8;

export async function fileRows(session: Session): Promise<(Row | Skipped)[]> {
  const { catalogue, dir } = await session.snapshot();
  const { key } = await session.customer();
  const id = await largestFile(catalogue, dir);
  const file = join(dir, observationsFile(id));
  const { size } = await stat(file);
  // As the macros of the DuckDB database ask: with the snapshot in the address.
  const path = `/v1/files/${encodeURIComponent(id)}.parquet?as_of=${basename(dir)}`;
  const authorization = `Bearer ${key}`;
  const from = Math.floor((size - RANGE_BYTES) / 2);
  const to = from + RANGE_BYTES;
  const asked = [
    { name: 'whole file', headers: { authorization }, status: 200, part: { from: 0, to: size } },
    {
      name: '64-kB range of a file',
      headers: { authorization, range: `bytes=${from}-${to - 1}` },
      status: 206,
      part: { from, to },
    },
  ];
  await using gateway = await session.gateway();
  const rows: (Row | Skipped)[] = [];
  for (const { name, headers, status, part } of asked) {
    const call = { path, headers };
    const compared = await session.comparison(name, async (stack) => {
      const answer = await fetchWhole(gateway.port, call);
      if (answer.status !== status) throw new Error(`${path} answered ${answer.status}: ${answer.body}`);
      const sent = { path, status, headers: answer.headers, file, ...part };
      const { port, cpu } = await session.floor(stack, { kind: 'file', answer: sent });
      return {
        name,
        connections: CONNECTIONS,
        gateway: { name: 'gateway', port: gateway.port, cpu: gateway.cpu, call, status },
        floor: { name: 'bare node:http', port, cpu, call, status, atLeast: AT_LEAST },
      };
    });
    const note = `${Math.round((part.to - part.from) / 1000).toLocaleString('en')} of ${Math.round(size / 1000).toLocaleString('en')} kB`;
    rows.push(...compared.map((row) => ({ ...row, note })));
  }
  return rows;
}
