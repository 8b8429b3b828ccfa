/** Says why a new account got no free credits. */
import type { GroupKind } from '../accounts/accounts.ts';

const SHARED: Record<GroupKind, string> = {
  mailbox: 'Another spelling of your address has got the free credits already.',
  range: 'The free credits for your network are used up for now, because many accounts were opened from it.',
  domain:
    'The free credits for your mail domain are used up for now, because many accounts were opened with it.',
};

/** Empty when the credits were granted. */
export const withheldText = (withheld: GroupKind | null): string =>
  withheld === null ? '' : `${SHARED[withheld]} Everything free works, and credits can be bought.`;
