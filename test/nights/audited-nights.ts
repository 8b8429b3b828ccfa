/** Nights of a small provider, with a record of what each contained that owes nothing to what the build wrote. */
import { decideToWithhold, deleteWithheld } from '../../build/editions/withhold.ts';
import { acceptRun } from '../../build/ingest/accept-run.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { runBuild } from '../build/build-child.ts';
import { type Cell, type Series, World } from '../build/world.ts';
import {
  type Aliases,
  type AuditedEdition,
  type Content,
  contentIn,
  type Described,
  type Today,
} from './audit-model.ts';

const GATES = { gates: { max_row_drop: 1, max_country_drop: 1 } };
const PROVIDER = 'atlas';
const idOf = (slug: string): string => `${PROVIDER}.${slug}`;

/** A series as upstream and the definition have it now. */
export interface AuditedSeries extends Described {
  figures: Map<string, number>;
}

interface Rollback {
  from: string;
  to: string;
  at: string;
  reason: string | null;
}

export class AuditedNights {
  readonly world: World;
  /** By the name that they have upstream. */
  readonly series = new Map<string, AuditedSeries>();
  /** Ids that the definition disables. */
  readonly disabled = new Set<string>();
  readonly withheld = new Set<string>();
  /** Newest last, as the log has them. */
  readonly editions: AuditedEdition[] = [];
  readonly rollbacks: Rollback[] = [];
  /** Editions whose publication was killed before the pointer moved. */
  readonly neverServed = new Set<string>();
  readonly #renames: { old: string; now: string; since: string }[] = [];
  /** What a build held that was killed after its log was signed. */
  #pending: Omit<AuditedEdition, 'id' | 'published_ms'> | null = null;
  #served: AuditedEdition | null = null;

  private constructor(world: World) {
    this.world = world;
  }

  static async create(): Promise<AuditedNights> {
    const world = await World.create({ [PROVIDER]: GATES });
    world.settings.SNAPSHOT_KEEP = 20;
    return new AuditedNights(world);
  }

  get served(): AuditedEdition {
    if (this.#served === null) throw new Error('nothing was served yet');
    return this.#served;
  }

  get today(): Today {
    const { served } = this;
    const hidden = new Set([...this.withheld, ...served.disabled]);
    const aliases = new Map([...served.aliases].filter(([, now]) => !hidden.has(now)));
    const isShown = (id: string): boolean =>
      !hidden.has(id) && served.line.some((edition) => contentIn(edition, id, aliases) !== null);
    return { served, aliases, isShown };
  }

  /** Lists a rename, as an operator does on the day of it or later. */
  enterRename(old: string, now: string): void {
    const since = formatTimestamp(this.world.clock + 86_400_000).slice(0, 10);
    this.#renames.push({ old: idOf(old), now: idOf(now), since });
  }

  /** A night: reads what upstream has, builds, and enters what the log got. @param killBefore a path of the world */
  async pass(killBefore = ''): Promise<void> {
    this.world.tomorrow();
    await this.#ingest();
    await this.#build(killBefore);
  }

  async rollBack(to: AuditedEdition, reason: string | null): Promise<void> {
    this.world.clock += 60_000;
    const { id: from } = this.served;
    await this.world.rollback(to.id, reason);
    this.rollbacks.push({ from, to: to.id, at: formatTimestamp(this.world.clock), reason });
    this.#served = to;
  }

  async withhold(slug: string): Promise<void> {
    await decideToWithhold(this.world.withholding, idOf(slug), 'a court said so');
    this.withheld.add(idOf(slug));
    await this.pass();
    await deleteWithheld(this.world.withholding, this.world.settings.SNAPSHOT_KEEP);
  }

  async #ingest(): Promise<void> {
    const { world } = this;
    const upstream: Record<string, Series> = {};
    const indicators: Record<string, unknown> = {};
    for (const [slug, { name, unit, description, figures }] of this.series) {
      const cells = [...figures].map(([key, value]): Cell => [key.slice(0, 3), key.slice(4), value]);
      upstream[slug] = { name, unit, cells };
      const enabled = !this.disabled.has(idOf(slug));
      indicators[slug] = { enabled, ...(description !== null && { description }) };
    }
    await world.publish(PROVIDER, upstream);
    await world.define(PROVIDER, { ...GATES, indicators });
    const rows = this.#renames.map(({ old, now, since }) => `${old},${now},${since},`);
    await world.list('aliases', ...rows);
    const { status, reason, run_id: run } = await world.ingest(PROVIDER);
    if (status === 'suspicious') await acceptRun(await world.dependencies(), PROVIDER, run);
    else if (status !== 'succeeded' && status !== 'unchanged') throw new Error(`${status}: ${reason}`);
  }

  async #build(killBefore: string): Promise<void> {
    const { world } = this;
    world.clock += 60_000;
    const { editions: before } = await world.snapshots.log();
    // Between the time at which files are made and that of the publication.
    const now = (): number => {
      world.clock += 700;
      return world.clock;
    };
    if (killBefore === '') await world.build({ now });
    else await runBuild(world, 'build', { before: killBefore });
    const built = {
      content: this.#content(),
      aliases: this.#aliases(),
      disabled: new Set(this.disabled),
      line: this.#served?.line ?? [],
    };
    const { editions } = await world.snapshots.log();
    for (const { edition: id, published_at } of editions.slice(before.length)) {
      const edition: AuditedEdition = {
        ...(this.#pending ?? built),
        id,
        published_ms: Date.parse(published_at),
      };
      this.#pending = null;
      edition.line = [...edition.line, edition];
      this.editions.push(edition);
      if (id === (await world.snapshots.currentId())) this.#served = edition;
      else this.neverServed.add(id);
    }
    if (killBefore === 'snapshots/log.json') this.#pending = built;
  }

  #aliases(): Aliases {
    return new Map(this.#renames.map(({ old, now }) => [old, now]));
  }

  #content(): Map<string, Content> {
    const published = [...this.series]
      .map(([slug, one]) => [idOf(slug), { ...one, figures: new Map(one.figures) }] as const)
      .filter(([id]) => !this.disabled.has(id) && !this.withheld.has(id));
    return new Map(published);
  }
}
