/**
 * What docs/api.md and docs/claims.md say that a gateway answers after some nights, computed from what each night contained
 * and from nothing that the gateway or the build wrote but ids and times of editions.
 */
export interface Described {
  name: string;
  unit: string;
  description: string | null;
}
/** Values by `iso3 year`. */
export type Figures = ReadonlyMap<string, number>;
export interface Content extends Described {
  figures: Figures;
}
/** New ids by old id. */
export type Aliases = ReadonlyMap<string, string>;
export interface AuditedEdition {
  id: string;
  published_ms: number;
  /** By the id that it had then. */
  content: ReadonlyMap<string, Content>;
  /** The line that led to it, and itself, oldest first. */
  line: readonly AuditedEdition[];
  /** As far as they were listed when it was built. */
  aliases: Aliases;
  disabled: ReadonlySet<string>;
}

/** What governs every answer. */
export interface Today {
  served: AuditedEdition;
  aliases: Aliases;
  isShown: (id: string) => boolean;
}

/** All ids of an indicator, that of today first. */
export const namesOf = (id: string, aliases: Aliases): string[] => [
  id,
  ...[...aliases].flatMap(([old, now]) => (now === id ? [old] : [])),
];

export function contentIn(
  { content }: AuditedEdition,
  id: string,
  aliases: Aliases,
): (Content & { id: string }) | null {
  const name = namesOf(id, aliases).find((one) => content.has(one));
  const found = name === undefined ? undefined : content.get(name);
  return name === undefined || found === undefined ? null : { ...found, id: name };
}

const change = (old: string | null, now: string | null) => (old === now ? null : { old, new: now });
function redefinitionOf(indicator: string, before: Described, after: Described) {
  const [name, unit, definition] = [
    change(before.name, after.name),
    change(before.unit, after.unit),
    change(before.description, after.description),
  ];
  return (name ?? unit ?? definition) ? { indicator, name, unit, definition } : null;
}

const lastWith = (
  line: readonly AuditedEdition[],
  id: string,
  aliases: Aliases,
): (Content & { id: string }) | null =>
  line.map((edition) => contentIn(edition, id, aliases)).findLast((one) => one !== null) ?? null;

/** Figures by kind of revision. Those of an indicator that came or went as a whole are not counted. */
function countRevisions({ id: at }: AuditedEdition, ids: readonly string[], today: Today) {
  const counted = ids.flatMap((id) => {
    const rows = revisionsOf(today.aliases.get(id) ?? id, today, -1).filter((row) => row.new_edition === at);
    const count = (kind: string): number => rows.filter((row) => row.kind === kind).length;
    const [added, changed, withdrawn] = [count('added'), count('changed'), count('withdrawn')];
    return rows.length === 0 ? [] : [[id, { added, changed, withdrawn, restored: count('restored') }]];
  });
  return Object.fromEntries(counted);
}

/** The entry of an edition in /v1/changes. */
export function changesOf(edition: AuditedEdition, today: Today) {
  const { aliases, isShown } = today;
  const base = edition.line.at(-2);
  if (base === undefined) return { added: [], withdrawn: [], renamed: [], redefined: [], revised: {} };
  const [before, after] = [[...base.content.keys()].sort(), [...edition.content.keys()].sort()];
  const came = after.filter((id) => !before.includes(id));
  const went = before.filter((id) => !after.includes(id));
  const renamed = went.flatMap((from) =>
    came.flatMap((to) => (aliases.get(from) === to ? [{ from, to }] : [])),
  );
  const isLate = (id: string): boolean =>
    renamed.some(({ from, to }) => to === id && edition.aliases.get(from) !== to);
  const redefined = after.flatMap((id) => {
    const now = edition.content.get(id);
    const then = lastWith(edition.line.slice(0, -1), id, edition.aliases);
    return (!isLate(id) && now && then && redefinitionOf(id, then, now)) || [];
  });
  const isKnown = (id: string): boolean => isShown(aliases.get(id) ?? id);
  const isListed = (id: string): boolean =>
    isKnown(id) && !renamed.some(({ from, to }) => from === id || to === id);
  const added = came.filter(isListed);
  return {
    added,
    withdrawn: went.filter(isListed),
    renamed: renamed.filter(({ to }) => isShown(to)),
    redefined: redefined.filter(({ indicator }) => isKnown(indicator)),
    revised: countRevisions(
      edition,
      after.filter((id) => isKnown(id) && !added.includes(id) && !isLate(id)),
      today,
    ),
  };
}

/** The rows of /v1/revisions, without bounds and statuses. @param after position in the served line */
export function revisionsOf(id: string, { served: { line }, aliases }: Today, after: number) {
  const gone = new Set<string>();
  const rows = line.flatMap((edition, at) => {
    const before = line[at - 1];
    if (before === undefined) return [];
    const [old, now] = [contentIn(before, id, aliases), contentIn(edition, id, aliases)];
    const all = [...(old?.figures.keys() ?? []), ...(now?.figures.keys() ?? [])];
    return [...new Set(all)].flatMap((key) => {
      const [had, has] = [sideOf(old, key), sideOf(now, key)];
      if (had.value === has.value) return [];
      const came = had.value !== null ? 'changed' : gone.has(key) ? 'restored' : 'added';
      if (has.value === null) gone.add(key);
      const row = {
        iso3: key.slice(0, 3),
        year: Number(key.slice(4)),
        kind: has.value === null ? 'withdrawn' : came,
        old_value: had.value,
        new_value: has.value,
        old_unit: had.unit,
        new_unit: has.unit,
        old_edition: before.id,
        new_edition: edition.id,
      };
      return at > after ? [{ key, at, row }] : [];
    });
  });
  rows.sort((a, b) => (a.key === b.key ? a.at - b.at : a.key < b.key ? -1 : 1));
  return rows.map(({ row }) => row);
}

function sideOf(content: Content | null, key: string): { value: number | null; unit: string | null } {
  const value = content?.figures.get(key);
  return value === undefined || content === null
    ? { value: null, unit: null }
    : { value, unit: content.unit };
}

/** The newest edition that changed unit or definition, as a verdict names it. */
function lastRedefinition(id: string, { served: { line }, aliases }: Today) {
  const all = line.flatMap((edition, at) => {
    const [now, then] = [contentIn(edition, id, aliases), lastWith(line.slice(0, at), id, aliases)];
    const found = now && then && redefinitionOf(id, then, now);
    return found && (found.unit ?? found.definition) !== null
      ? [{ edition: edition.id, unit: found.unit, definition: found.definition }]
      : [];
  });
  return all.at(-1) ?? null;
}

type Fit = 'exact' | 'rounded' | 'close' | null;
const isRight = (fit: Fit): boolean => fit === 'exact' || fit === 'rounded';

/** No figure of these nights is a half where claims round it. */
function fitOf(claim: string, value: number | undefined): Fit {
  if (value === undefined) return null;
  if (Number(claim) === value) return 'exact';
  const digits = claim.split('.')[1]?.length ?? 0;
  if (Number(value.toFixed(digits)) === Number(claim)) return 'rounded';
  return Math.abs(Number(claim) - value) <= Math.abs(value) / 100 ? 'close' : null;
}

/** What /v1/verify says of a claim, without reasons. */
export function verdictOn(claim: string, id: string, key: string, today: Today) {
  const { served, aliases, isShown } = today;
  const now = isShown(id) ? contentIn(served, id, aliases) : null;
  if (now === null) return { verdict: 'unknown', earlier: null, redefined: null, unit: null, value: null };
  const value = now.figures.get(key);
  const about = { redefined: lastRedefinition(id, today), unit: now.unit, value: value ?? null };
  const fit = fitOf(claim, value);
  if (isRight(fit)) return { verdict: fit, earlier: null, ...about };
  const figureAt = (at: number) => {
    const edition = served.line[at];
    return edition ? contentIn(edition, id, aliases) : null;
  };
  const last = served.line.findLastIndex((_, at) => isRight(fitOf(claim, figureAt(at)?.figures.get(key))));
  const [then, edition, next] = [figureAt(last), served.line[last]?.id, served.line[last + 1]?.id];
  const earlier = then && {
    edition,
    superseded_by: next,
    unit: then.unit,
    value: then.figures.get(key),
  };
  if (value === undefined) return { verdict: 'no_data', earlier, ...about };
  const verdict = earlier && (earlier.unit === now.unit ? 'superseded' : 'redefined');
  return { verdict: verdict ?? fit ?? 'mismatch', earlier, ...about };
}
