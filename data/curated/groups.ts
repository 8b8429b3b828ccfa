/**
 * Reads `groups.csv`: groups of countries. Members are listed, or follow from a column of the list of countries by a rule,
 * `<column>: <value>; <value>`.
 */
import { existsSync } from 'node:fs';
import { type CountryGroup, countryGroup } from '../schema/curated.ts';
import type { CountryRecord } from '../schema/records.ts';
import type { Spine } from './countries.ts';
import type { Position, Problems } from './problems.ts';
import { check, readTable } from './table.ts';

const COLUMNS = ['id', 'name', 'members', 'rule', 'source', 'as_of'] as const;
const RULE = /^(region|subregion|income_group): (.+)$/;

/**
 * In file order; none without the file.
 * @param spine what members and rules must refer to; null leaves that to the build, which reads it first.
 */
export function loadGroups(file: string, spine: Spine | null, problems: Problems): CountryGroup[] {
  if (!existsSync(file)) return [];
  const groups: CountryGroup[] = [];
  for (const { cells, ...at } of readTable(file, COLUMNS, [], problems)) {
    const [, column, values = ''] = RULE.exec(cells.rule ?? '') ?? [];
    const rule = column === undefined ? cells.rule : { column, values: values.split('; ') };
    const group = check(
      countryGroup,
      { ...cells, members: cells.members?.split(' ') ?? null, rule },
      at,
      problems,
    );
    if (group === undefined) continue;
    if (groups.some(({ id }) => id === group.id)) problems.add(at, `${group.id} occurs twice`);
    if ((group.members === null) === (group.rule === null)) problems.add(at, 'give either members or a rule');
    if (spine !== null) checkAgainst(spine, group, at, problems);
    groups.push(group);
  }
  return groups;
}

function checkAgainst(
  { countries, named }: Spine,
  { members, rule }: CountryGroup,
  at: Position,
  problems: Problems,
): void {
  for (const [index, iso3] of (members ?? []).entries()) {
    if (!named.has(iso3)) problems.add(at, `${iso3}: there is no such country`);
    if (members?.indexOf(iso3) !== index) problems.add(at, `${iso3} is named twice`);
  }
  for (const value of rule?.values ?? [])
    if (!countries.some((country) => country[rule?.column ?? 'region'] === value))
      problems.add(at, `${value}: no country has this ${rule?.column}`);
}

/** The codes of those of some countries that belong to a group, sorted. */
export const membersOf = ({ members, rule }: CountryGroup, countries: Iterable<CountryRecord>): string[] =>
  [...countries]
    .filter((country) => members?.includes(country.iso3) || rule?.values.includes(country[rule.column] ?? ''))
    .map(({ iso3 }) => iso3)
    .sort();
