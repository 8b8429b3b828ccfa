/** Who made a change, as a reader of a mail is told. */
import type { MemberStore, PersonStore } from '../../accounts/accounts.ts';
import type { AccountRecord } from '../../store/store.ts';

interface Parts {
  persons: PersonStore;
  members: MemberStore;
}

/** Operators are not named, and neither is somebody whose data was erased. @param by as audited */
export async function authorOf(
  { persons, members }: Parts,
  by: string,
  { account, reader }: { account: AccountRecord | null; reader: string },
): Promise<string> {
  if (by === 'stripe') return 'the card payment service';
  const person_id = /^(?:person )?(per_\S+)$/.exec(by)?.[1];
  if (person_id === undefined) return 'an operator of Almanac';
  if (person_id === reader) return 'you';
  const person = await persons.get(person_id);
  if (!person) return 'somebody whose data was erased';
  const name = person.name === '' ? person.email : `${person.name} <${person.email}>`;
  const role = account && (await members.roleOf(account.account_id, person_id));
  return `${name}, ${role ?? 'a former member'}`;
}

export const accountLine = (account: AccountRecord | null): string[] =>
  account ? [`Account: ${account.name || account.email}`] : [];
