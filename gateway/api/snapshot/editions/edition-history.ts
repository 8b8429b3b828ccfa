/** What the served editions changed, one after the other. Rolled-back ones are not among them. */
import { type Redefinition, redefinitionOf } from '../../../../data/schema/records.ts';
import {
  type EditionChanges,
  type LogEntry,
  observationsFile,
  providerOf,
} from '../../../../data/schema/snapshot.ts';
import { readManifest, SnapshotDamaged } from '../files/manifest.ts';
import { ByteCache } from '../files/memory.ts';
import { catalogueEntries, type SharedParts } from '../files/shared-parts.ts';
import { SnapshotFiles, SnapshotUnreadable } from '../files/snapshot-files.ts';
import { yearRange } from '../rows/query-runner.ts';
import type { CatalogueEntry } from './catalogue.ts';
import type { History, IndicatorChange, IndicatorChanges } from './edition.ts';
import { type AskedRevisions, type RevisionWithUnits, readRevisions, type Step } from './revisions.ts';
import type { TodaysTerms } from './todays-terms.ts';

/** Memory for parsed changes, which take a few times the bytes of their JSON. */
const CHANGES_BUDGET_BYTES = 12 * 1024 * 1024;
const MEMORY_PER_BYTE = 3;

/** Lists of changes that one look at an indicator's history reads. */
const LISTS_READ_MAX = 20;

const NO_CHANGES: EditionChanges = { added: [], withdrawn: [], renamed: [], revised: {}, redefined: [] };

/** The way of one indicator through the editions. */
interface Path {
  steps: Step[];
  /** Oldest first, with the position of the edition in the chain. */
  redefined: (Redefinition & { edition: number })[];
  /** The newest edition that has it, and the id that it has there. */
  last: { entry: LogEntry; id: string } | null;
}

export class EditionHistory implements History {
  readonly #shared: SharedParts;
  readonly #today: TodaysTerms;
  readonly #chain: () => readonly LogEntry[];
  readonly #changes: ByteCache<{ changes: EditionChanges; bytes: number }>;

  /** @param chain gives the served edition and those before it, oldest first. */
  constructor(shared: SharedParts, today: TodaysTerms, chain: () => readonly LogEntry[]) {
    this.#shared = shared;
    this.#today = today;
    this.#chain = chain;
    const budget = CHANGES_BUDGET_BYTES / shared.processCount;
    this.#changes = new ByteCache(budget, ({ bytes }) => bytes * MEMORY_PER_BYTE);
  }

  /** What an edition changed against the one before it, whatever may be shown of it. @throws {SnapshotUnreadable} */
  async changes({ changes: ref }: LogEntry): Promise<EditionChanges> {
    if (ref === null) return NO_CHANGES;
    const read = async () => {
      const text = await this.#shared.objects.read(ref).catch((cause: unknown) => {
        throw new SnapshotUnreadable(`${this.#shared.objects.path(ref)} cannot be read`, { cause });
      });
      // A verified file has the shape that the build wrote.
      return { changes: JSON.parse(text.toString()) as EditionChanges, bytes: ref.bytes };
    };
    return (await this.#changes.getOrMake(ref.sha256, read)).changes;
  }

  /** What may be shown of it today. A rename that was entered later shows as one. */
  async shownChanges(entry: LogEntry): Promise<EditionChanges> {
    const { added, withdrawn, renamed, revised, redefined } = await this.changes(entry);
    const { aliases } = this.#today;
    const late = withdrawn.flatMap((from) => {
      const to = aliases.byOld.get(from)?.new;
      return to !== undefined && added.includes(to) ? [{ from, to }] : [];
    });
    const told = [...Object.keys(revised), ...redefined.map(({ indicator }) => indicator)];
    const ids = [...added, ...withdrawn, ...renamed.map(({ to }) => to), ...told];
    const shown = new Set<string>();
    for (const id of ids) if ((await this.#today.of(id)) !== undefined) shown.add(id);
    const isListed = (id: string): boolean =>
      shown.has(id) && !late.some(({ from, to }) => from === id || to === id);
    return {
      added: added.filter(isListed),
      withdrawn: withdrawn.filter(isListed),
      renamed: [...renamed, ...late].filter(({ to }) => shown.has(to)),
      revised: Object.fromEntries(Object.entries(revised).filter(([id]) => shown.has(id))),
      redefined: redefined.filter(({ indicator }) => shown.has(indicator)),
    };
  }

  async shownProviders(providers: Iterable<string>): Promise<ReadonlySet<string>> {
    const shown = new Set<string>();
    for (const id of new Set(providers)) if (await this.#today.hasProvider(id)) shown.add(id);
    return shown;
  }

  async newestRecord(id: string): Promise<CatalogueEntry | undefined> {
    const today = this.#today.served.indicator(id);
    if (today !== undefined || (await this.#today.of(id)) === undefined) return today;
    const { last } = await this.#path(id);
    if (last === null) return undefined;
    const entry = await this.#record(last.entry, last.id);
    return entry && this.#today.govern(entry);
  }

  async revisions(id: string, { countries, from, to, after }: AskedRevisions): Promise<RevisionWithUnits[]> {
    const { steps, redefined } = await this.#path(id);
    const unit = (await this.newestRecord(id))?.record.unit ?? null;
    /** The first change after an edition says what the unit was. */
    const unitIn = (edition: number): string | null => {
      const change = redefined.find((one) => one.edition > edition && one.unit !== null)?.unit;
      return change ? change.old : unit;
    };
    const enabled = [...this.#today.served.countriesByCode.keys()];
    const all = await readRevisions(this.#shared, steps, {
      countries: countries?.filter((country) => enabled.includes(country)) ?? enabled,
      ...yearRange({ from, to }),
    });
    return all
      .filter(({ edition }) => edition > after)
      .map((one) => ({
        ...one,
        oldUnit: one.old && unitIn(one.edition - 1),
        newUnit: one.new && unitIn(one.edition),
      }));
  }

  async lastRedefinition(id: string): Promise<{ entry: LogEntry; redefinition: Redefinition } | null> {
    const names = this.#today.aliases.names(id);
    const providers = new Set(names.map(providerOf));
    const isTold = this.#chain().some(({ changed }) =>
      [...providers].some((provider) => (changed[provider]?.redefined ?? 0) > 0),
    );
    // Of a rename that was entered later, the build compared nothing.
    if (!isTold && names.length === 1) return null;
    const { redefined } = await this.#path(id);
    const last = redefined.findLast(({ unit, definition }) => unit !== null || definition !== null);
    const entry = last && this.#chain()[last.edition];
    return entry ? { entry, redefinition: last } : null;
  }

  async indicatorChanges(id: string): Promise<IndicatorChanges> {
    const names = this.#today.aliases.names(id);
    const found: IndicatorChange[] = [];
    let since: LogEntry | undefined;
    let read = 0;
    for (const entry of this.#chain().toReversed()) {
      const isConcerned = names.some((name) => entry.changed[providerOf(name)] !== undefined);
      if (isConcerned && read === LISTS_READ_MAX) break;
      since = entry;
      if (!isConcerned) continue;
      read += 1;
      const change = changeOf(await this.changes(entry), names);
      if (change !== null) found.push({ entry, ...change });
    }
    return { changes: found, since };
  }

  async #path(id: string): Promise<Path> {
    const names = this.#today.aliases.names(id);
    const present = new Set<string>();
    const path: Path = { steps: [], redefined: [], last: null };
    const nameNow = () => names.find((name) => present.has(name));
    const chain = this.#chain();
    for (const [edition, entry] of chain.entries()) {
      const previous = chain[edition - 1];
      const isCompared = previous !== undefined && entry.changes !== null && entry.base === previous.edition;
      if (isCompared && names.every((name) => entry.changed[providerOf(name)] === undefined)) {
        this.#advance(path, entry, nameNow());
        continue;
      }
      const before = nameNow();
      const changes = isCompared ? await this.changes(entry) : null;
      if (changes) apply(changes, names, present);
      else await this.#look(entry, names, present);
      const now = nameNow();
      const revised = now === undefined ? undefined : changes?.revised[now];
      if (changes && (before === now || isRenamed(changes, before, now))) {
        if (revised) path.steps.push({ edition, revisions: revised.file });
      } else if (previous !== undefined) {
        const [a, b] = [await this.#find(previous, before), await this.#find(entry, now)];
        if (a?.sha256 !== b?.sha256) path.steps.push({ edition, before: a, after: b });
      }
      const redefinition = await this.#redefinition(path.last, changes, now, entry);
      if (redefinition) path.redefined.push({ ...redefinition, edition });
      this.#advance(path, entry, now);
    }
    return path;
  }

  /** How an edition describes an indicator otherwise than the last one that had it. */
  async #redefinition(
    last: Path['last'],
    changes: EditionChanges | null,
    now: string | undefined,
    entry: LogEntry,
  ): Promise<Redefinition | null | undefined> {
    if (last === null || now === undefined) return null;
    // The build did not compare the two, or did not know yet that one id is a former one of the other.
    const isKnown = changes !== null && (last.id === now || isRenamed(changes, last.id, now));
    if (isKnown) return changes.redefined.find(({ indicator }) => indicator === now);
    const [before, after] = [await this.#record(last.entry, last.id), await this.#record(entry, now)];
    return before && after && redefinitionOf(before.record, after.record);
  }

  async #record(entry: LogEntry, id: string): Promise<CatalogueEntry | undefined> {
    return (await catalogueEntries(await this.#files(entry), providerOf(id))).get(id);
  }

  #advance(path: Path, entry: LogEntry, id: string | undefined): void {
    if (id !== undefined) path.last = { entry, id };
  }

  /** Finds out which of some ids an edition has. */
  async #look(entry: LogEntry, names: readonly string[], present: Set<string>): Promise<void> {
    present.clear();
    for (const name of names) if ((await this.#find(entry, name)) !== undefined) present.add(name);
  }

  async #find(entry: LogEntry, id: string | undefined) {
    return id === undefined ? undefined : (await this.#files(entry)).find(observationsFile(id));
  }

  async #files({ edition, manifest }: LogEntry): Promise<SnapshotFiles> {
    try {
      return new SnapshotFiles(await readManifest(this.#shared.directory, edition, manifest), this.#shared);
    } catch (cause) {
      if (!(cause instanceof SnapshotDamaged)) throw cause;
      throw new SnapshotUnreadable(`edition ${edition} cannot be read`, { cause });
    }
  }
}

/** What was changed of an indicator; null for nothing. @param names its ids */
function changeOf(
  { added, withdrawn, renamed, revised, redefined }: EditionChanges,
  names: readonly string[],
): Omit<IndicatorChange, 'entry'> | null {
  const isOne = (id: string): boolean => names.includes(id);
  const [isAdded, isWithdrawn] = [added.some(isOne), withdrawn.some(isOne)];
  // A rename that was entered later stands as one id that went and another that came.
  const isRename = renamed.some(({ to }) => isOne(to)) || (isAdded && isWithdrawn);
  const counts = names.flatMap((name) => revised[name] ?? [])[0];
  const event = isRename ? 'renamed' : isAdded ? 'added' : isWithdrawn ? 'withdrawn' : null;
  const redefinition = redefined.find(({ indicator }) => isOne(indicator));
  if (event === null && counts === undefined && redefinition === undefined) return null;
  return { event, revised: counts ?? null, redefined: redefinition ?? null };
}

/** Follows which of some ids there are. */
function apply(
  { added, withdrawn, renamed }: EditionChanges,
  names: readonly string[],
  present: Set<string>,
): void {
  for (const name of names) {
    if (withdrawn.includes(name) || renamed.some(({ from }) => from === name)) present.delete(name);
    if (added.includes(name) || renamed.some(({ to }) => to === name)) present.add(name);
  }
}

const isRenamed = (
  { renamed }: EditionChanges,
  before: string | undefined,
  now: string | undefined,
): boolean => renamed.some(({ from, to }) => from === before && to === now);
