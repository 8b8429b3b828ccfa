/** `/status.json` and the page of the same facts. */

import { beforeEach, expect, test } from 'vitest';
import { emptyRecord } from '../../../../build/lake/provider-lake.ts';
import { type BuildRun, SNAPSHOT_SUBJECT } from '../../../../data/schema/jobs.ts';
import type { RunRecord } from '../../../../data/schema/lake.ts';
import { redisKeys } from '../../../../data/schema/redis-keys.ts';
import { AvailabilityLog } from '../../../../gateway/api/status/availability.ts';
import type { ServiceStatus } from '../../../../gateway/api/status/service-status.ts';
import { NOON, useService } from '../../service.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const service = await useService();
beforeEach(() => {
  // Beyond what was read before.
  service.clock.ms = NOON + HOUR * Math.ceil((service.clock.ms - NOON) / HOUR + 1);
});

const read = async (): Promise<ServiceStatus> => {
  const { status, headers, json } = await service.get('/status.json');
  expect([status, headers['access-control-allow-origin']]).toEqual([200, '*']);
  return json as ServiceStatus;
};

const at = (minute: number): string =>
  new Date(NOON + minute * MINUTE).toISOString().replace('.000Z', '+00:00');

/** As the worker stores runs. */
async function storeRun(subject: string, said: Partial<RunRecord> | Partial<BuildRun>, minute: number) {
  const run = { ...said, started_at: at(minute), finished_at: at(minute + 1), reason: '/var/secret is full' };
  const { run_id = '' } = run;
  const key = redisKeys.run(subject, run_id);
  await service.client.hset(key, { said: JSON.stringify(run), heard_at_ms: NOON });
  await service.client.zadd(redisKeys.runsOf(subject), NOON + minute, run_id);
}

const BUILD = { snapshot: null, counts: null, steps_ms: {} };

test('tells what is served, as the API says it', async () => {
  const { served, providers, is_ready, causes } = await read();
  const { json: freshness } = await service.get('/v1/meta/freshness');
  const { json: editions } = await service.get('/v1/editions');
  const { json: indicators } = await service.get('/v1/indicators?limit=1');
  expect([is_ready, causes]).toEqual([true, []]);
  expect(served).toMatchObject({
    edition: service.snapshots.current()?.id,
    published_at: service.snapshots.current()?.generatedAt,
    indicators: indicators.meta.total,
    editions: editions.data.length,
  });
  expect(
    providers.map(({ provider_id, loaded_at, rows, newest_year }) => [
      provider_id,
      loaded_at,
      rows,
      newest_year,
    ]),
  ).toEqual(
    freshness.data.map((each: Record<string, unknown>) => [
      ...[each.provider_id, each.last_ok_finished_at, each.last_ok_rows, each.latest_data_year],
    ]),
  );
});

test('tells the last night without its reasons, which may name files', async () => {
  expect((await read()).last_night).toBeNull();
  const [one = '', two = ''] = (await read()).providers.map(({ provider_id }) => provider_id);
  await storeRun(SNAPSHOT_SUBJECT, { ...BUILD, run_id: 'a', status: 'failed' }, 0);
  await storeRun(SNAPSHOT_SUBJECT, { ...BUILD, run_id: 'b', status: 'succeeded' }, 10);
  await storeRun(one, { ...emptyRecord('c', one, NOON), status: 'suspicious' }, 2);
  await storeRun(two, { ...emptyRecord('d', two, NOON), status: 'failed' }, 2);
  service.clock.ms += HOUR;
  const answer = await service.get('/status.json');
  expect((answer.json as ServiceStatus).last_night).toEqual({
    state: 'succeeded',
    held: [one],
    failed: [two],
    started_at: at(10),
    finished_at: at(11),
  });
  expect(answer.text).not.toContain('secret');
  const { text } = await service.get('/status');
  expect(text).toContain(`held: ${one}; failed: ${two}`);
});

test('shows measured availability as a picture, a table and numbers that agree', async () => {
  expect((await service.get('/status')).text).toContain('Nothing has been measured yet.');
  const log = new AvailabilityLog(service.client, () => service.clock.ms);
  for (let minute = 0; minute < 40; minute++) {
    if (minute % 10 !== 3) await log.record();
    service.clock.ms += MINUTE;
  }
  const { availability } = await read();
  expect(availability).toMatchObject({
    last_30_days: 0.9,
    last_year: 0.9,
    days: [{ date: '2026-11-21', minutes: 40, available_minutes: 36 }],
  });
  const { text } = await service.get('/status');
  expect(text).toContain('90.000 % of the last 1 day');
  const [, row = ''] = text.split('>2026-11</th>');
  expect([...(row.split('</tr>', 1)[0]?.matchAll(/>([^<>]+)<\/td>/g) ?? [])].map(([, cell]) => cell)).toEqual(
    ['90.000 %', '4', '40'],
  );
  expect(text.match(/<rect class="(full|part|down)"/g)).toEqual(['<rect class="down"']);
});
