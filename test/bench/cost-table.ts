/** The table of costs per million calls, and the resources of two example deployments. */

/** What a million calls of one kind cost. */
export interface Cost {
  kind: string;
  /** CPU-seconds of the gateway and of Redis. */
  gateway_s: number;
  redis_s: number;
  /** Redis memory of the ledger, until it is archived. */
  lasting_mb: number;
  /** Redis memory for three minutes: results of debits, for idempotent retries. */
  passing_mb: number;
  /** Written to the append-only file. */
  file_mb: number;
}

/** Share of each kind of call in an example deployment. */
const MIX: [kind: string, share: number][] = [
  ['cached catalogue', 0.5],
  ['304', 0.2],
  ['one country', 0.1],
  ['one ranking', 0.05],
  ['filtered data, 60 rows', 0.14],
  ['whole indicator as JSON', 0.01],
];
const PRICED_SHARE = 0.3;
/** Ratio of the busiest minute of a day to the mean. */
const PEAK = 5;
/** `LEDGER_LIVE_DAYS` plus the current day. */
const LEDGER_DAYS = 4;
const DAY_S = 86_400;
/** Smaller values are shown as "less than". */
const CORE_LEAST = 0.01;
const DEPLOYMENTS = [
  { name: 'small', callsPerDay: 100_000 },
  { name: 'large', callsPerDay: 100_000_000 },
];

const rounded = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 10 ? 0 : 1);

export function costTable(costs: readonly Cost[]): string {
  const line = (words: string[]): string => `| ${words.join(' | ')} |`;
  const head = [
    'a million calls of',
    'gateway, CPU s',
    'Redis, CPU s',
    'ledger, MB',
    'for 3 minutes, MB',
    'append-only file, MB',
  ];
  return [
    line(head),
    line(head.map(() => '---')),
    ...costs.map(({ kind, gateway_s, redis_s, lasting_mb, passing_mb, file_mb }) =>
      line([kind, ...[gateway_s, redis_s, lasting_mb, passing_mb, file_mb].map(rounded)]),
    ),
    '',
    ...deploymentLines(costs),
  ].join('\n');
}

/** Empty unless every kind of the mix was measured. */
function deploymentLines(costs: readonly Cost[]): string[] {
  const parts = MIX.map(([kind, share]) => ({ share, cost: costs.find((cost) => cost.kind === kind) }));
  const known = parts.flatMap(({ share, cost }) => (cost ? [{ share, cost }] : []));
  if (known.length < MIX.length) return [];
  const perMillion = (of: (cost: Cost) => number): number =>
    known.reduce((sum, { share, cost }) => sum + share * of(cost), 0);
  const mix = MIX.map(([kind, share]) => `${Math.round(share * 100)} % ${kind}`).join(', ');
  const lines = DEPLOYMENTS.map(({ name, callsPerDay }) => {
    const millions = callsPerDay / 1e6;
    const atPeak = (seconds: number): number => (millions * seconds * PEAK) / DAY_S;
    const ledger_mb = millions * perMillion((cost) => cost.lasting_mb) * LEDGER_DAYS;
    const passing_mb = (millions * perMillion((cost) => cost.passing_mb) * PEAK * 180) / DAY_S;
    const file_mb = millions * perMillion((cost) => cost.file_mb);
    const cores = (of: (cost: Cost) => number): string => {
      const share = atPeak(perMillion(of));
      return share < CORE_LEAST ? `less than ${CORE_LEAST} cores` : `${share.toFixed(2)} cores`;
    };
    return (
      `- ${name}, ${callsPerDay.toLocaleString('en')} calls a day: at the peak ${cores((cost) => cost.gateway_s)} ` +
      `of gateways and ${cores((cost) => cost.redis_s)} of Redis; ` +
      `${rounded(ledger_mb + passing_mb)} MB of Redis beyond its accounts; ${rounded(file_mb)} MB a day to its file.`
    );
  });
  return [
    `With ${mix}, ${PRICED_SHARE * 100} % of calls priced, a peak of ${PEAK} times the mean, and ${LEDGER_DAYS} days of ledger in Redis:`,
    '',
    ...lines,
  ];
}
