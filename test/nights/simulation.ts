/**
 * Simulates nights: changes the mirror, builds, and records what a gateway serves, as a caller would see it. A seed gives
 * the same nights again.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collectGarbage } from '../../build/editions/retention.ts';
import { rollback, SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { acceptRun } from '../../build/ingest/accept-run.ts';
import { type NightlySummary, nightly } from '../../build/nightly.ts';
import { DdfSeries } from './ddf-series.ts';
import type { Event, Events } from './events.ts';
import { CalledGateway, startFollowing, startRestored } from './gateways.ts';
import { type Answers, type Caller, type Rename, withSomeOthers } from './served.ts';
import type { Nights, Site } from './sites.ts';
import { type Extent, UpstreamChanges } from './upstream-changes.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** What a gateway served on one day. */
export interface Night {
  date: string;
  /** When it was recorded, RFC 3339. */
  moment: string;
  edition: string;
  answers: Answers;
  /** The edition that was built on this day and rolled back, with its answers. */
  rolledBack: { edition: string; answers: Answers } | null;
}

export interface SimulationOptions {
  seed: number;
  /** What a night changes. */
  extent: Extent;
  events: Events;
}

export interface Comparison {
  /** How a night is named. Default: in every way. */
  kinds?: readonly ('date' | 'moment' | 'edition')[];
  /** Beside the rows of all indicators, each night compares one in so many answers, others than the night before. Default: all. */
  othersOneIn?: number;
  /** Called after each night. */
  onNight?: (line: string) => void;
}

export class Simulation {
  readonly nights: Night[] = [];
  /** Answers that were compared so far. */
  compared = 0;
  readonly #plan: Nights;
  readonly #changes: UpstreamChanges;
  readonly #series: DdfSeries;
  readonly #extent: Extent;
  readonly #events: Events;
  #gateway: CalledGateway | null = null;

  constructor(plan: Nights, { seed, extent, events }: SimulationOptions) {
    const mirror = String(plan.site.settings.PROVIDER_MIRROR);
    this.#plan = plan;
    this.#extent = extent;
    this.#events = events;
    this.#changes = new UpstreamChanges(mirror, seed);
    this.#series = new DdfSeries(join(mirror, plan.ddf.folder));
  }

  /** Simulates nights and records each. @param onNight called after each with what it did */
  async run(count: number, onNight: (line: string) => void = () => {}): Promise<void> {
    const { site, ddf } = this.#plan;
    if (Object.values(this.#events).includes('add')) await this.#series.withdraw(ddf.added);
    for (let number = 1; number <= count; number += 1) {
      site.clock += DAY_MS;
      const event = this.#events[number] ?? null;
      await this.#change(event, number);
      const before = await this.#servedId();
      const outcome = await this.#build();
      const night = await this.#record();
      const published = night.edition === before ? 'published nothing' : `published ${night.edition}`;
      // An edition that was served on an earlier night stays.
      if (event === 'rollback' && night.edition !== before) await this.#rollBack(night);
      onNight(`night ${number} (${event ?? 'figures'}): ${outcome}; ${published}`);
    }
  }

  get site(): Site {
    return this.#plan.site;
  }

  /** A caller of the gateway that runs. */
  get caller(): Caller {
    return this.#running.caller;
  }

  get #running(): CalledGateway {
    if (this.#gateway === null) throw new Error('no gateway runs');
    return this.#gateway;
  }

  /** Removes what no edition needs. */
  async collectGarbage(): Promise<void> {
    const { SNAPSHOT_DIR: directory, SNAPSHOT_KEEP: keep } = this.site.settings;
    await collectGarbage(new SnapshotStorage(directory), keep, true);
  }

  /** Starts a gateway on the snapshots; stops the one that ran. */
  async startGateway(): Promise<void> {
    await this.stopGateway();
    this.#gateway = await CalledGateway.start(
      { snapshots: this.site.settings.SNAPSHOT_DIR },
      { rename: this.#renamed },
    );
  }

  async stopGateway(): Promise<void> {
    const running = this.#gateway;
    this.#gateway = null;
    await running?.stop();
  }

  /** Replaces the gateway by one on a backup of everything that was restored elsewhere. */
  async restoreGateway(): Promise<void> {
    const restored = await startRestored(this.site, this.#running, this.#renamed);
    await this.stopGateway();
    this.#gateway = restored;
  }

  /** Replaces the gateway by one that follows an origin to which the snapshots were pushed. */
  async followGateway(): Promise<void> {
    await this.stopGateway();
    this.#gateway = await startFollowing(this.site, this.#renamed);
  }

  /** Every answer as of a date, a moment and an edition that is not the one recorded. */
  async differences(comparison: Comparison = {}): Promise<string[]> {
    const { kinds = ['date', 'moment', 'edition'], othersOneIn = 1, onNight } = comparison;
    const found: string[] = [];
    for (const [number, night] of this.nights.entries()) {
      const { edition, rolledBack } = night;
      const compare = async (recorded: Answers, asOf: string, id: string): Promise<void> => {
        const answers = withSomeOthers(recorded, othersOneIn, number);
        found.push(...(await this.caller.differences(answers, asOf, id)));
        this.compared += answers.size;
      };
      for (const kind of kinds) await compare(night.answers, night[kind], edition);
      if (rolledBack) await compare(rolledBack.answers, rolledBack.edition, rolledBack.edition);
      onNight?.(`${night.date}: ${this.compared} answers compared, ${found.length} differ so far`);
    }
    return found;
  }

  async remove(): Promise<void> {
    await this.stopGateway();
    await this.#plan.site.remove();
  }

  async #change(event: Event | null, number: number): Promise<void> {
    const { site, ddf, failing } = this.#plan;
    const time = site.clock - 2 * MINUTE_MS;
    if (event === 'quiet' || number === 1) return;
    if (event === 'add') await this.#series.add(ddf.added);
    if (event === 'withdraw') await this.#series.withdraw(ddf.withdrawn);
    if (event === 'rename') await this.#rename(time);
    if (event === 'fail') await this.#changes.fail(failing);
    if (event === 'recover') await this.#changes.recover(failing);
    await this.#changes.revise(this.#extent, time);
  }

  /** The id that an indicator has until it is renamed, and after. */
  get #renamed(): Rename {
    const { provider, renamed } = this.#plan.ddf;
    return { from: `${provider}.${renamed}`, to: `${provider}.${renamed}_2` };
  }

  /** Renames a series upstream, and lists the rename as an operator would. */
  async #rename(time: number): Promise<void> {
    const { from, to } = this.#renamed;
    const { renamed } = this.#plan.ddf;
    await this.#series.rename(renamed, `${renamed}_2`, time);
    const since = new Date(this.site.clock).toISOString().slice(0, 10);
    const rows = ['old,new,since,until', `${from},${to},${since},`, ''];
    await writeFile(join(this.site.settings.CURATED_DIR, 'aliases.csv'), rows.join('\n'));
  }

  /** Ingests everything and builds; accepts runs that quality gates hold, as an operator would. */
  async #build(): Promise<string> {
    const { site } = this.#plan;
    const first = await nightly(await site.dependencies(), { all: true });
    const held = first.providers.filter(({ outcome }) => outcome === 'suspicious');
    for (const { provider, run_id: run } of held) {
      site.clock += MINUTE_MS;
      await acceptRun(await site.dependencies(), provider, run ?? '');
    }
    if (held.length > 0) {
      site.clock += MINUTE_MS;
      await nightly(await site.dependencies(), { providers: [] });
    }
    return outcomesOf(first);
  }

  async #record(): Promise<Night> {
    if (this.#gateway === null) await this.startGateway();
    await this.#running.service.snapshots.check();
    const edition = await this.#servedId();
    const instant = new Date(this.#plan.site.clock + MINUTE_MS).toISOString();
    const night: Night = {
      date: instant.slice(0, 10),
      moment: instant,
      edition,
      answers: await this.#answersOf(edition),
      rolledBack: null,
    };
    this.nights.push(night);
    return night;
  }

  async #rollBack(night: Night): Promise<void> {
    const { SNAPSHOT_DIR: directory } = this.#plan.site.settings;
    const edition = await rollback(new SnapshotStorage(directory), {
      to: undefined,
      reason: null,
      now_ms: this.#plan.site.clock,
    });
    await this.#running.service.snapshots.check();
    const answers = await this.#answersOf(edition);
    night.rolledBack = { edition: night.edition, answers: night.answers };
    Object.assign(night, { edition, answers });
  }

  /** Recorded now. @param edition that is served */
  #answersOf(edition: string): Promise<Answers> {
    return this.caller.record(this.nights.find((night) => night.edition === edition)?.answers);
  }

  async #servedId(): Promise<string> {
    const { SNAPSHOT_DIR: directory } = this.#plan.site.settings;
    return (await readFile(join(directory, 'current'), 'utf8').catch(() => '')).trim();
  }
}

function outcomesOf({ providers, build_error: error }: NightlySummary): string {
  const outcomes = new Map<string, number>();
  for (const { outcome } of providers) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const counted = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  return error === null ? counted : `${counted}; ${error}`;
}
