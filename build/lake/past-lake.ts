/** A lake as it stood on past nights: the run of each provider that was current, in a directory of its own. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Curated } from '../../data/curated/curated.ts';
import { replaceFile } from '../../data/runtime/durable-files.ts';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { type LakeRun, POINTER, ProviderLake } from './lake.ts';
import { projectionRuleOf } from './projection-rule.ts';
import { LostRunError, restoreRun } from './rebuild-run.ts';

/** A day, UTC, on which at least one provider had a new good run. */
export interface PastNight {
  date: string;
  /** When the newest of its runs ended, in milliseconds. */
  ended_ms: number;
  /** Its last run of each provider that had one. */
  runs: { provider: string; run: LakeRun }[];
}

interface ProviderHistory {
  lake: ProviderLake;
  history: LakeRun[];
}

export class PastLake {
  readonly #curated: Curated;
  readonly #directory: string;
  readonly #providers: ReadonlyMap<string, ProviderHistory>;
  /** Providers whose current run is lost, with the reason. */
  readonly #lost = new Map<string, string>();

  private constructor(curated: Curated, directory: string, providers: ReadonlyMap<string, ProviderHistory>) {
    this.#curated = curated;
    this.#directory = directory;
    this.#providers = providers;
  }

  /** @param directory of the lake to make */
  static async open(lakeDir: string, curated: Curated, directory: string): Promise<PastLake> {
    const providers = new Map<string, ProviderHistory>();
    for (const { id, enabled, redistributable } of curated.providers.values()) {
      if (!enabled || !redistributable) continue;
      const lake = new ProviderLake(lakeDir, id);
      providers.set(id, { lake, history: await lake.history() });
    }
    return new PastLake(curated, directory, providers);
  }

  /** The nights that ended before a day, oldest first. */
  nightsBefore(date: string): PastNight[] {
    const byDate = new Map<string, PastNight>();
    for (const [provider, { history }] of this.#providers) {
      for (const run of history) {
        const ended = run.record.finished_at;
        if (run.record.status !== 'succeeded' || ended === null) continue;
        const ended_ms = Date.parse(ended);
        const day = new Date(ended_ms).toISOString().slice(0, 10);
        if (day >= date) continue;
        const night = byDate.get(day) ?? { date: day, ended_ms, runs: [] };
        night.ended_ms = Math.max(night.ended_ms, ended_ms);
        night.runs = [...night.runs.filter((one) => one.provider !== provider), { provider, run }];
        byDate.set(day, night);
      }
    }
    return [...byDate.values()].sort((a, b) => a.ended_ms - b.ended_ms);
  }

  /**
   * Makes the runs of a night current. Nights must come in their order.
   * @returns ids of series that no catalogue describes any more; they are left out
   * @throws {LostRunError} when the lake no longer holds the rows of a run that was current then.
   */
  async advance({ date, runs }: PastNight): Promise<string[]> {
    const leftOut: string[] = [];
    for (const { provider, run } of runs) {
      const slugs = await this.#makeCurrent(provider, run);
      leftOut.push(...slugs.map((slug) => `${provider}.${slug}`));
    }
    const [lost] = this.#lost;
    if (lost) throw new LostRunError(`no edition of ${date}: ${lost.join(': ')}`);
    return leftOut;
  }

  async #makeCurrent(provider: string, run: LakeRun): Promise<string[]> {
    const target = join(this.#directory, provider);
    await mkdir(target, { recursive: true });
    const from = { ...this.#historyOf(provider), ruleOf: this.#ruleOf(provider) };
    try {
      const slugs = await restoreRun(from, run, target);
      await replaceFile(join(target, POINTER), run.record.run_id);
      this.#lost.delete(provider);
      return slugs;
    } catch (error) {
      if (!(error instanceof LostRunError)) throw error;
      this.#lost.set(provider, error.message);
      return [];
    }
  }

  #historyOf(provider: string): ProviderHistory {
    const found = this.#providers.get(provider);
    if (!found) throw new RangeError(`there is no provider "${provider}"`);
    return found;
  }

  #ruleOf(provider: string): (entry: CatalogueEntry) => ReturnType<typeof projectionRuleOf> {
    const definition = this.#curated.providers.get(provider);
    if (!definition) throw new RangeError(`there is no provider "${provider}"`);
    return (entry) => projectionRuleOf(definition, this.#curated.overlay(provider, entry));
  }
}
