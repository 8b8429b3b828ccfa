/**
 * Alerts about indicators that an account used in the 30 days before a new edition, and that it revised, redefined, renamed
 * or withdrew: one for each account and edition.
 *
 * Every gateway looks for new editions. No alert is sent about the first edition that is seen, nor about one that was
 * served before. A look that ends halfway is repeated; an event that was handed over by then is not sent again.
 */
import { z } from 'zod';
import type { RedisClient } from '../../../../data/runtime/redis.ts';
import { publishedMs } from '../../../../data/schema/editions.ts';
import { dayOf, redisKeys } from '../../../../data/schema/redis-keys.ts';
import type { EditionChanges, LogEntry } from '../../../../data/schema/snapshot.ts';
import { readUsedIndicators } from '../../../api/metering/metering.ts';
import { readBatches, Store, type StoreDependencies, throwUnavailable } from '../../store/store.ts';
import type { Outbox } from '../outbox.ts';

/**
 * A revised indicator has other figures for the same years; figures of further years are no revision. A redefined one has
 * another unit, name or definition.
 */
export const CHANGE_KINDS = ['revised', 'redefined', 'renamed', 'withdrawn'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export const REDEFINED = ['unit', 'name', 'definition'] as const;

const id = z.string().min(1);
/** The data of the event. */
export const editionDigest = z.strictObject({
  edition: id,
  /** ISO 8601. */
  published_at: id,
  changed: z.array(
    z.strictObject({
      /** The id by which it was used, or that it got since. */
      indicator: id,
      change: z.enum(CHANGE_KINDS),
      /** What is said otherwise; of a redefined one. */
      redefined: z.array(z.enum(REDEFINED)).optional(),
      /** Its new id; of a renamed one. */
      to: id.optional(),
      /** Number of figures that changed, went or came back; of a revised one. */
      figures: z.coerce.number().int().optional(),
    }),
  ),
});
export type EditionDigest = z.infer<typeof editionDigest>;
export type ChangedIndicator = EditionDigest['changed'][number];

/** The editions that a gateway serves. */
export interface ServedEditions {
  current(): SnapshotRead | null;
}

/** What is read of the served one; see `Edition`. */
interface SnapshotRead {
  readonly editions: {
    readonly chain: readonly LogEntry[];
    history: { shownChanges(entry: LogEntry): Promise<EditionChanges> };
  };
  /** The id that an indicator has today. */
  resolve(id: string): { id: string };
}

interface AskedEdition {
  snapshot: SnapshotRead;
  entry: LogEntry;
  changes: EditionChanges;
}

interface Dependencies extends StoreDependencies {
  served: ServedEditions;
  outbox: Pick<Outbox, 'emit'>;
}

export class ChangeAlerts extends Store<Dependencies> {
  /** Writes an event for each account that editions concern which are new since the last look, by any gateway. */
  async findConcerned(): Promise<void> {
    const { redis } = this;
    const snapshot = this.deps.served.current();
    const newest = snapshot?.editions.chain.at(-1);
    if (!snapshot || !newest) return;
    const { chain, history } = snapshot.editions;
    const text = await redis.get(redisKeys.toldEdition);
    if (text === null) await redis.set(redisKeys.toldEdition, publishedMs(newest), 'NX');
    else
      for (const entry of chain.filter((one) => publishedMs(one) > Number(text))) {
        const asked = { snapshot, entry, changes: await history.shownChanges(entry) };
        await this.#emitAll(asked);
        // Only now, so that a process that ends before this leaves it to the next.
        await redis.set(redisKeys.toldEdition, publishedMs(entry));
      }
  }

  async #changed(
    account_id: string,
    { snapshot, entry, changes }: AskedEdition,
  ): Promise<ChangedIndicator[]> {
    const day = dayOf(publishedMs(entry));
    const used = await readUsedIndicators(this.redis, account_id, day);
    const all = changedIndicators(used, changes, (id) => snapshot.resolve(id).id);
    if (all.length === 0) return all;
    const told = await readToldKinds(this.redis, account_id);
    return all.filter(({ change }) => told.includes(change));
  }

  async #emitAll(asked: AskedEdition): Promise<void> {
    const { edition, published_at } = asked.entry;
    for await (const ids of readBatches(this.redis, redisKeys.accounts))
      for (const account_id of ids) {
        const changed = await this.#changed(account_id, asked);
        const digest: EditionDigest = { edition, published_at, changed };
        if (changed.length > 0)
          await this.deps.outbox.emit(account_id, 'indicators.changed', edition, digest);
      }
  }
}

/**
 * Ordered by kind, then by id. One that changed in two ways is named twice.
 * @param idToday the id that an indicator has today: one that was renamed since its use is followed
 */
export function changedIndicators(
  used: readonly string[],
  changes: Pick<EditionChanges, 'withdrawn' | 'renamed' | 'revised' | 'redefined'>,
  idToday: (id: string) => string,
): ChangedIndicator[] {
  const withdrawn = new Set(changes.withdrawn);
  const renamed = new Map(changes.renamed.map(({ from, to }) => [from, to]));
  const redefinitions = new Map(changes.redefined.map((one) => [one.indicator, one]));
  const found: Record<ChangeKind, ChangedIndicator[]> = {
    revised: [],
    redefined: [],
    renamed: [],
    withdrawn: [],
  };
  const names = used.flatMap((id) => (renamed.has(id) ? [id] : [id, idToday(id)]));
  for (const indicator of [...new Set(names)].sort()) {
    const to = renamed.get(indicator);
    const revisions = changes.revised[to ?? indicator];
    const figures = revisions ? revisions.changed + revisions.withdrawn + revisions.restored : 0;
    if (figures > 0) found.revised.push({ indicator, change: 'revised', figures });
    const said = redefinitions.get(to ?? indicator);
    const redefined = REDEFINED.filter((member) => (said?.[member] ?? null) !== null);
    if (redefined.length > 0) found.redefined.push({ indicator, change: 'redefined', redefined });
    if (to !== undefined) found.renamed.push({ indicator, change: 'renamed', to });
    if (withdrawn.has(indicator)) found.withdrawn.push({ indicator, change: 'withdrawn' });
  }
  return CHANGE_KINDS.flatMap((kind) => found[kind]);
}

/** Which changes an account gets alerts about: all kinds that are not turned off. @throws {AccountError} `unavailable` */
export async function readToldKinds(redis: RedisClient, account_id: string): Promise<ChangeKind[]> {
  const off = await redis.hgetall(redisKeys.changeAlerts(account_id)).catch(throwUnavailable);
  return CHANGE_KINDS.filter((kind) => off[kind] === undefined);
}

/** @throws {AccountError} `unavailable` */
export async function setToldKinds(
  redis: RedisClient,
  account_id: string,
  told: readonly ChangeKind[],
): Promise<void> {
  const name = redisKeys.changeAlerts(account_id);
  const off = CHANGE_KINDS.filter((kind) => !told.includes(kind));
  const change = redis.multi().del(name);
  if (off.length > 0) change.hset(name, Object.fromEntries(off.map((kind) => [kind, 'off'])));
  await change.exec().catch(throwUnavailable);
}
