/** Nights whose upstream files have faults: after a good night, and without one. */
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { findConnector } from '../../../../build/connectors/registry.ts';
import { buildSnapshot } from '../../../../build/editions/build-snapshot.ts';
import { planSnapshot } from '../../../../build/editions/plan/plan-snapshot.ts';
import { acceptRun } from '../../../../build/ingest/accept-run.ts';
import { ingestProvider } from '../../../../build/ingest/ingest-provider.ts';
import { QualityReports } from '../../../../build/quality/findings.ts';
import { DuckSession } from '../../../../build/runtime/duckdb.ts';
import { loadCurated } from '../../../../data/curated/curated.ts';
import type { QualityFinding } from '../../../../data/schema/quality.ts';
import { CONCEPTS, conceptLink } from '../../../../data/schema/snapshot.ts';
import { seededRandom } from '../../../seeded-random.ts';
import { showSnapshot } from '../../../shown-snapshot.ts';
import { DATA } from '../../world.ts';
import { UPSTREAM_FAULTS } from './fault-kinds.ts';
import { partsWith } from './figure-faults.ts';
import type { PlantedFault, Surroundings } from './planting.ts';
import { type Edit, PROVIDER_IDS, Upstream } from './upstream.ts';

const DAY_MS = 86_400_000;
const GOOD_NIGHT = Date.UTC(2026, 10, 20, 3);

export type Night = 'compared' | 'alone';
export interface Outcome {
  fault: PlantedFault;
  /** Whether it can be told on that night. */
  told: boolean;
  /** The kind of the finding, or that the run was held for the series; null when nobody noticed. */
  found: string | null;
}
export interface NightOutcome {
  night: Night;
  outcomes: Outcome[];
  /** Findings that the untouched files do not give, on series without a fault and without a twin that has one. */
  accusations: QualityFinding[];
}

class Nights {
  readonly #directory: string;
  readonly #upstream: Upstream;
  #now = GOOD_NIGHT;
  /** Why runs were held, until a person accepted them. */
  held: string[] = [];

  constructor(directory: string, upstream: Upstream) {
    this.#directory = directory;
    this.#upstream = upstream;
  }

  async build(edits: readonly Edit[]): Promise<QualityFinding[]> {
    const at = (name: string): string => join(this.#directory, name);
    await this.#upstream.write(at('mirror'), at('data'), edits);
    const curated = await loadCurated(at('data'));
    this.#now += DAY_MS;
    const dependencies = {
      settings: {
        LAKE_DIR: at('lake'),
        LAKE_KEEP: 3,
        CURATED_DIR: at('data'),
        PROVIDER_MIRROR: at('mirror'),
        SNAPSHOT_DIR: at('snapshots'),
        SNAPSHOT_KEEP: 3,
        SIGNING_DIR: at('signing'),
      },
      curated,
      findConnector,
      now: () => this.#now,
      log: pino({ level: 'error' }),
    };
    this.held = [];
    for (const provider of PROVIDER_IDS) {
      const record = await ingestProvider(dependencies, provider);
      if (record.status === 'suspicious') {
        this.held.push(record.reason ?? '');
        await acceptRun(dependencies, provider, record.run_id);
      } else if (!['succeeded', 'unchanged'].includes(record.status))
        throw new Error(`${provider} is ${record.status}: ${record.reason}`);
    }
    await buildSnapshot(dependencies);
    return this.#findings();
  }

  async #findings(): Promise<QualityFinding[]> {
    const reports = new QualityReports(join(this.#directory, 'lake'));
    const night = (await reports.nights()).at(-1);
    if (night === undefined) throw new Error('there is no quality report');
    await using duck = await DuckSession.open({ scratch: join(this.#directory, 'duck') });
    return (await reports.read(duck, night)).filter(({ decision }) => decision === null);
  }

  async published(): Promise<Surroundings['published']> {
    const curated = await loadCurated(join(this.#directory, 'data'));
    const year = new Date(this.#now).getUTCFullYear();
    const plan = await planSnapshot(join(this.#directory, 'lake'), curated, new Map(), year);
    return new Map(plan.indicators.map(({ id, record }) => [id, record]));
  }

  /** Series of one concept, reviewed or found by the build. */
  async twins(): Promise<Map<string, Set<string>>> {
    const { directory } = await showSnapshot(join(this.#directory, 'snapshots'));
    const links = conceptLink.array().parse(JSON.parse(await readFile(join(directory, CONCEPTS), 'utf8')));
    const { concepts } = await loadCurated(join(this.#directory, 'data'));
    const reviewed = concepts.pairs().map(([a, b]) => ({ a: a.series.indicator, b: b.series.indicator }));
    const twins = new Map<string, Set<string>>();
    for (const { a, b } of [...links, ...reviewed])
      for (const [one, other] of [[a, b] as const, [b, a] as const])
        twins.set(one, (twins.get(one) ?? new Set()).add(other));
    return twins;
  }
}

/** Up to `each` faults of each kind, no two in one series or in twins. */
function plantFaults(
  around: Pick<Surroundings, 'upstream' | 'published' | 'concepts'>,
  good: ReadonlySet<string>,
  related: (id: string) => string[],
  { seed, each }: { seed: number; each: number },
): PlantedFault[] {
  const random = seededRandom(seed);
  const used = new Set<string>();
  const planted: PlantedFault[] = [];
  const kinds = Object.entries(UPSTREAM_FAULTS);
  for (let round = 0; round < each; round += 1)
    for (const [kind, { plant }] of kinds) {
      const free = random.shuffle(
        [...around.upstream.series.values()].filter(({ id }) => good.has(id) && !used.has(id)),
      );
      for (const series of free) {
        const fault = plant(series, { ...around, random, free });
        if (!fault || fault.series.some((id) => used.has(id))) continue;
        planted.push({ kind, ...fault });
        for (const id of fault.series) for (const one of [id, ...related(id)]) used.add(one);
        break;
      }
    }
  return planted;
}

export async function measureUpstreamFaults(
  mirror: string,
  options: { seed: number; each: number; scratch: string },
): Promise<NightOutcome[]> {
  const curatedDir = join(options.scratch, 'curated');
  await cp(DATA, curatedDir, { recursive: true, filter: (path) => !path.startsWith(join(DATA, 'starter')) });
  const upstream = await Upstream.open(mirror, curatedDir);
  const compared = new Nights(join(options.scratch, 'compared'), upstream);
  const before = await compared.build([]);
  const twins = await compared.twins();
  const published = await compared.published();
  const hasTwin = (id: string): boolean => [...(twins.get(id) ?? [])].some((twin) => published.has(twin));
  const related = (id: string): string[] => [...(twins.get(id) ?? []), ...partsWith(id)];
  const doubted = new Set(
    before.flatMap(({ indicator, other }) => [indicator, other]).filter((id) => id !== null),
  );
  // Series that are not published, or in doubt already, are no good data.
  const good = new Set([...published.keys()].filter((id) => !doubted.has(id)));
  const { concepts } = await loadCurated(curatedDir);
  const planted = plantFaults({ upstream, published, concepts }, good, related, options);
  const vanishing = planted.filter(({ vanishesBefore }) => vanishesBefore);
  await compared.build(vanishing.map(({ series: [series = ''] }) => ({ series, rows: [] })));
  const edits = planted.flatMap((fault) => fault.edits);
  const second = await compared.build(edits);
  const alone = new Nights(join(options.scratch, 'alone'), upstream);
  const first = await alone.build(edits);
  const outcome = (night: Night, after: QualityFinding[], held: string[]): NightOutcome => {
    const known = new Map(before.map((finding) => [finding.id, finding.extent]));
    const fresh = after.filter(({ id, extent }) => extent > (known.get(id) ?? -1));
    const names = ({ indicator, other }: QualityFinding, ids: ReadonlySet<string>): boolean =>
      (indicator !== null && ids.has(indicator)) || (other !== null && ids.has(other));
    const touched = new Set(planted.flatMap(({ series }) => series.flatMap((id) => [id, ...related(id)])));
    return {
      night,
      outcomes: planted.map((fault) => {
        const ids = new Set(fault.series);
        const finding = fresh.find((one) => names(one, ids));
        const slug = fault.series[0]?.replace(/^.*?\./, '') ?? '';
        const isHeld = fault.vanishesBefore && held.some((reason) => reason.includes(slug));
        const { alone: isTold } = UPSTREAM_FAULTS[fault.kind] ?? { alone: false };
        return {
          fault,
          told: night === 'compared' || isTold || fault.series.some(hasTwin),
          found: finding?.kind ?? (isHeld ? 'the run was held' : null),
        };
      }),
      accusations: fresh.filter((finding) => !names(finding, touched)),
    };
  };
  return [outcome('compared', second, compared.held), outcome('alone', first, alone.held)];
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const recall = (outcomes: readonly Outcome[]): number =>
  outcomes.filter(({ found }) => found !== null).length / outcomes.length;
export const recallOf = ({ outcomes }: NightOutcome): number => recall(outcomes.filter(({ told }) => told));

const HEADINGS: Record<Night, string> = { compared: 'second night', alone: 'first night' };

/** Recall by kind, as a table in Markdown. A cell is `found of those that can be told`. */
export function recallTable(nights: readonly NightOutcome[]): string {
  const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  const count = (outcomes: readonly Outcome[]): string => {
    const told = outcomes.filter((one) => one.told);
    return told.length === 0 ? '–' : `${told.filter(({ found }) => found !== null).length} of ${told.length}`;
  };
  const ofKind = ({ outcomes }: NightOutcome, kind: string): Outcome[] =>
    outcomes.filter(({ fault }) => fault.kind === kind);
  return [
    row(['kind', 'what is planted', ...nights.map(({ night }) => HEADINGS[night])]),
    row(['---', '---', ...nights.map(() => '---:')]),
    ...Object.entries(UPSTREAM_FAULTS).map(([kind, { what }]) =>
      row([`\`${kind}\``, what, ...nights.map((night) => count(ofKind(night, kind)))]),
    ),
    row(['**all**', '', ...nights.map(({ outcomes }) => count(outcomes))]),
    row(['**recall**', '', ...nights.map((night) => percent(recallOf(night)))]),
    row(['**findings on other series**', '', ...nights.map(({ accusations }) => accusations.length)]),
  ].join('\n');
}

/** What was missed and who was accused. */
export function describeNight(night: NightOutcome): string {
  const missed = night.outcomes
    .filter(({ found }) => found === null)
    .map(
      ({ fault: { kind, series, note }, told }) =>
        `missed${told ? '' : ' (untold)'} ${kind} ${series[0]}: ${note}`,
    );
  const accused = night.accusations.map(
    ({ kind, provider, indicator, other, message }) =>
      `accused ${kind} ${indicator ?? provider} ${other ?? ''}: ${message}`,
  );
  const head = `${night.night}: ${percent(recallOf(night))} of what can be told, ${percent(recall(night.outcomes))} of all ${night.outcomes.length}`;
  return [head, ...missed, ...accused].join('\n  ');
}
