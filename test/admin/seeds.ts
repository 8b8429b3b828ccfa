/** What an operator area shows: runs, quality findings, accounts with usage and orders, privacy requests. */
import { randomBytes } from 'node:crypto';
import { RunReporter } from '../../build/jobs/run-reporter.ts';
import { emptyRecord } from '../../build/lake/provider-lake.ts';
import { runRecord } from '../../data/schema/lake.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { FreeGrants } from '../../gateway/commerce/accounts/free-grants.ts';
import { SOURCE } from '../gateway/api/metering/harness.ts';
import { type AdminService, NOON } from './harness.ts';
import { ACCEPTED, LAPSED, OPEN, UNPUBLISHED } from './quality-findings.ts';

const DAY_MS = 86_400_000;

/** One running ingestion and one held back. */
export async function seedRuns(service: AdminService): Promise<void> {
  const mirror = new RunReporter(service.client, () => NOON);
  const begun = emptyRecord('20261121T115845Z', 'gapminder', NOON - 95_000);
  mirror.onRun(begun);
  mirror.onQuality({
    night: '2026-11-21',
    reported_at: formatTimestamp(NOON),
    findings: [OPEN, ACCEPTED, LAPSED, UNPUBLISHED],
    unused: [{ kind: OPEN.kind, subject: 'alpha.misspelt', other: null }],
  });
  const left = { unit: '', topic: 'energy', provider: 'gapminder', why: 'not redistributable' } as const;
  mirror.onExcluded([
    {
      id: 'gapminder.electricity_generation_per_person',
      name: 'Electricity generation per person',
      ...left,
      detail: 'International Energy Agency: IEA terms and conditions',
    },
    {
      id: 'gapminder.battle_deaths',
      name: 'Battle deaths',
      ...left,
      topic: 'governance',
      detail: 'Institute for Health Metrics and Evaluation: IHME non-commercial user agreement',
    },
  ]);
  mirror.onProgress({ task: 'ingest gapminder', step: 'reading', done: 210, total: 478, unit: 'indicators' });
  const held = {
    ...begun,
    run_id: '20261121T110000Z',
    provider_id: 'undp',
    status: 'suspicious',
    finished_at: formatTimestamp(NOON),
    rows_written: 31_415,
    indicators: 42,
    countries: 193,
    bytes: 2_718_281,
    vintage: '2025',
    rejects: { aggregate_place: { rows: 310, distinct: 2, samples: ['ZZK.WORLD', 'ZZA.VHHD'] } },
    failed_indicators: [{ slug: 'gii', reason: 'column gii_2023 is missing', rows: 0 }],
    empty_cells: 2_412,
    lost_places: [
      { place: 'FR-METROPOLITAN', iso3: 'FRA', name: 'France' },
      { place: 'Congo, Dem. Rep.', iso3: 'COD', name: 'Democratic Republic of the Congo' },
    ],
    unused_settings: [
      'rules.2 (slug: ^share_of_seats) matches no series',
      'overlay/undp.csv:14: there is no series "gender_development_index"; the nearest is "gender_inequality_index"',
    ],
    reason: 'Held against the last good run: rows fell by 31.2 % (45660 to 31415; 20.0 % is allowed).',
    sources: {
      run_id: '20261121T110000Z',
      files: 23,
      bytes: 2_718_281,
      digest: '5e'.repeat(32),
      first: [1, 2, 3].map((number) => ({
        url: `https://raw.example.org/open-numbers/ddf--undp--hdi/master/ddf--datapoints--hdi_${number}--by--country--year.csv`,
        sha256: `a${number}`.repeat(32),
        bytes: 90_000 * number,
        fetched_at: formatTimestamp(NOON),
      })),
    },
  };
  mirror.onRun(runRecord.parse(held));
  const line = { level: 30, run: held.run_id, provider: 'undp' };
  mirror.write(JSON.stringify({ ...line, time: '2026-11-21T11:00:00.000Z', msg: 'ingestion started' }));
  mirror.write(JSON.stringify({ ...line, time: '2026-11-21T12:00:20.000Z', msg: 'ingestion ended' }));
  await mirror.close();
}

/** Two sign-ups of one mailbox from one address. */
export async function seedAlike({ accounts, client, clock }: AdminService): Promise<void> {
  const grants = new FreeGrants({
    redis: client,
    now: () => clock.ms,
    random: randomBytes,
    perRange: 10,
    perDomain: 10,
  });
  for (const email of ['freja.lund@gmail.com', 'frejalund+almanac@gmail.com']) {
    const { account_id } = await accounts.create({ email, name: 'Freja Lund', by: 'test', credits: 5 });
    await grants.claim({ account_id, email, address: '192.0.2.1' });
  }
}

/** A month of usage by five accounts. @returns the id of the first account */
export async function seedUsage({
  accounts,
  requests,
  metering,
  clock,
  client,
}: AdminService): Promise<string> {
  const names = ['Amara Okafor', 'Bertil Ångström', 'Chioma <b>Eze</b>', 'Dörte Meyer', 'Ester Nováková'];
  const made = [];
  for (const [index, name] of names.entries()) {
    clock.ms = NOON - (30 - index * 5) * DAY_MS;
    const email = `${name.split(' ')[0]?.toLowerCase().replace('ö', 'oe')}@example.org`;
    made.push(await accounts.create({ email, name, verified: true, credits: 5_000 + index, by: 'test' }));
  }
  const [first, second] = made;
  if (!first || !second) throw new Error('no account was made');
  const { key } = await accounts.keys.mint(first.account_id, { label: 'notebook' });
  for (let day = 29; day >= 0; day -= 1) {
    clock.ms = NOON - day * DAY_MS;
    const apiKey = await metering.resolveKey(`Bearer ${key}`);
    for (let call = 0; apiKey && call <= (day * 7) % 11; call += 1) {
      const route = call % 3 === 0 ? '/v1/data' : '/v1/rankings/{indicator}';
      const status = call % 5 === 4 ? 404 : 200;
      await metering.admit({
        key: apiKey,
        source: SOURCE,
        route,
        price: 1 + call,
        rows: call,
        status,
        request_id: `r-${day}-${call}`,
      });
    }
    await metering.flush();
  }
  for (let order = 0; order < 3; order += 1) {
    const { order_id } = await accounts.orders.create(first.account_id, 'starter');
    if (order === 0) await accounts.orders.move(order_id, 'paid');
  }
  clock.ms = NOON - 3 * DAY_MS;
  const request = await requests.open(second.account_id, 'erasure');
  await requests.markReady(request.request_id, 'two keys, one order');
  clock.ms = NOON - DAY_MS;
  await requests.open(first.account_id, 'export');
  clock.ms = NOON;
  await client.hincrby(`{a:${second.account_id}}:account`, 'balance', 25);
  return first.account_id;
}
