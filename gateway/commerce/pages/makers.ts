/** Who made keys and orders, for pages: stored is the id of a person, shown the address of today. */
import type { PersonStore } from '../accounts/accounts.ts';

/** Keys and orders with `by` as pages show it; for a person who is gone, the id stays. */
export async function withMakers<Made extends { by: string }>(
  persons: PersonStore,
  made: readonly Made[],
): Promise<Made[]> {
  const ids = [...new Set(made.map(({ by }) => by))].filter((by) => by.startsWith('per_'));
  const found = await Promise.all(ids.map((id) => persons.get(id)));
  const emails = new Map(
    found.flatMap((person) => (person ? [[person.person_id, person.email] as const] : [])),
  );
  return made.map((one) => ({ ...one, by: emails.get(one.by) ?? one.by }));
}
