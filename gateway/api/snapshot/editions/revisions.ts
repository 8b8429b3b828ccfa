/**
 * The revisions of one indicator over the editions that were served, read from what the build compared.
 *
 * Where the build lists an indicator as added or withdrawn, all its figures of that edition are. Where it did not compare
 * two editions, or did not know yet that an id is a former one, they are compared here.
 */
import { INTEGER, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import type { FileRef } from '../../../../data/schema/snapshot.ts';
import type { SharedParts } from '../files/shared-parts.ts';
import { SnapshotUnreadable } from '../files/snapshot-files.ts';
import { isAway } from '../origin/origin-client.ts';

const REVISIONS_SQL = readSql(import.meta.url, 'sql/revisions.sql');
const FIGURES_SQL = readSql(import.meta.url, 'sql/figures.sql');

export interface Figure {
  value: number;
  ci_lo: number | null;
  ci_hi: number | null;
  status: string | null;
  projected: boolean;
}

export type RevisionKind = 'added' | 'changed' | 'withdrawn' | 'restored';

export interface Revision {
  iso3: string;
  year: number;
  kind: RevisionKind;
  old: Figure | null;
  new: Figure | null;
  /** Index in the chain of the edition that has the new figure. */
  edition: number;
}

/** With the units of both figures; null where there is no figure or no unit. */
export interface RevisionWithUnits extends Revision {
  oldUnit: string | null;
  newUnit: string | null;
}

/** How the figures of an indicator came from one edition to the next. */
export type Step = { edition: number } & (
  | { revisions: FileRef }
  /** Its observations in both editions, where they have any. */
  | { before: FileRef | undefined; after: FileRef | undefined }
);

export interface AskedRevisions {
  countries?: readonly string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  /** Only editions after this one of the chain; -1 for all. */
  after: number;
}

export interface RevisionFilter {
  countries: readonly string[];
  from: number;
  to: number;
}

const TYPES = { files: LIST(VARCHAR), countries: LIST(VARCHAR), from: INTEGER, to: INTEGER };
const { files: _, ...FIGURE_TYPES } = TYPES;

/** What revisions are read with. */
type Parts = Pick<SharedParts, 'objects' | 'queries' | 'onUnreadable'>;

type Cells = readonly unknown[];
type Series = ReadonlyMap<string, Figure>;

const keyOf = ({ iso3, year }: Pick<Revision, 'iso3' | 'year'>): string => `${iso3} ${year}`;

function toFigure([value, ci_lo, ci_hi, status, projected]: Cells): Figure | null {
  return value === null ? null : ({ value, ci_lo, ci_hi, status, projected: projected === true } as Figure);
}

const isSame = (a: Figure, b: Figure): boolean =>
  a.value === b.value &&
  a.ci_lo === b.ci_lo &&
  a.ci_hi === b.ci_hi &&
  a.status === b.status &&
  a.projected === b.projected;

/** The revisions of all steps, by country, year and edition. @throws {SnapshotUnreadable} {QueryTimeout} {QueueFull} */
export async function readRevisions(
  shared: Parts,
  steps: readonly Step[],
  filter: RevisionFilter,
): Promise<Revision[]> {
  const compared = await Promise.all([
    readFiles(shared, steps, filter),
    ...steps.map((step) => ('revisions' in step ? [] : compareFigures(shared, step, filter))),
  ]);
  return tellRestored(compared.flat().sort(byCell));
}

const byCell = (a: Revision, b: Revision): number =>
  a.iso3 === b.iso3 ? a.year - b.year || a.edition - b.edition : a.iso3 < b.iso3 ? -1 : 1;

/** An added figure that an earlier edition withdrew is restored, also with the whole series. */
function tellRestored(ordered: readonly Revision[]): Revision[] {
  let withdrawn = '';
  return ordered.map((one) => {
    const key = keyOf(one);
    if (one.kind === 'withdrawn') withdrawn = key;
    return one.kind === 'added' && key === withdrawn ? { ...one, kind: 'restored' } : one;
  });
}

async function readFiles(
  shared: Parts,
  steps: readonly Step[],
  { countries, from, to }: RevisionFilter,
): Promise<Revision[]> {
  const files = steps.flatMap((step) => ('revisions' in step ? [{ ...step, ref: step.revisions }] : []));
  if (files.length === 0) return [];
  // Equal revisions of two editions are one file.
  const byPath = Map.groupBy(files, ({ ref }) => shared.objects.path(ref));
  const refs = [...byPath.values()].flatMap(([one]) => one?.ref ?? []);
  const chunks = await useObjects(shared, refs, () =>
    shared.queries.run(
      REVISIONS_SQL,
      { files: listValue([...byPath.keys()]), countries: listValue([...countries]), from, to },
      TYPES,
    ),
  );
  return chunks
    .flatMap((chunk) => chunk.getRows() as Cells[])
    .flatMap(([path, iso3, year, kind, ...cells]) =>
      (byPath.get(String(path)) ?? []).map(({ edition }) => ({
        iso3: String(iso3),
        year: Number(year),
        kind: kind as RevisionKind,
        old: toFigure(cells.slice(0, 5)),
        new: toFigure(cells.slice(5)),
        edition,
      })),
    );
}

async function compareFigures(
  shared: Parts,
  { edition, before, after }: Extract<Step, { before: unknown }>,
  filter: RevisionFilter,
): Promise<Revision[]> {
  const [old, now] = await Promise.all([
    readFigures(shared, before, filter),
    readFigures(shared, after, filter),
  ]);
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key): Revision[] => {
    const [had, has] = [old.get(key) ?? null, now.get(key) ?? null];
    if (had && has && isSame(had, has)) return [];
    const kind = has === null ? 'withdrawn' : had === null ? 'added' : 'changed';
    const [iso3 = '', year] = key.split(' ');
    return [{ iso3, year: Number(year), kind, old: had, new: has, edition }];
  });
}

async function readFigures(
  shared: Parts,
  ref: FileRef | undefined,
  { countries, from, to }: RevisionFilter,
): Promise<Series> {
  if (ref === undefined) return new Map();
  const file = shared.objects.path(ref);
  const values = { file, countries: listValue([...countries]), from, to };
  const chunks = await useObjects(shared, [ref], () => shared.queries.run(FIGURES_SQL, values, FIGURE_TYPES));
  return new Map(
    chunks
      .flatMap((chunk) => chunk.getRows() as Cells[])
      .flatMap(([iso3, year, ...cells]) => {
        const one = toFigure(cells);
        return one === null ? [] : [[`${iso3} ${year}`, one] as const];
      }),
  );
}

/** Passes on what is read from objects, verified. @throws {SnapshotUnreadable} when one of them is damaged or not there. */
async function useObjects<T>(
  { objects, onUnreadable }: Parts,
  refs: readonly FileRef[],
  reading: () => Promise<T>,
): Promise<T> {
  const fail = (ref: FileRef, cause: unknown): SnapshotUnreadable => {
    if (!isAway(cause)) onUnreadable('revisions', ref);
    return new SnapshotUnreadable(`${objects.path(ref)} cannot be read`, { cause });
  };
  const open = (ref: FileRef) =>
    objects.open(ref).catch((cause: unknown) => {
      throw fail(ref, cause);
    });
  await Promise.all(refs.map(open));
  try {
    return await reading();
  } catch (cause) {
    for (const ref of refs) if (!(await objects.verify(ref))) throw fail(ref, cause);
    throw cause;
  }
}
