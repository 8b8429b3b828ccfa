/** `/account/summary`: the balance of the signed-in account as JSON, for prices on public pages. Empty for everybody else. */
import type { FastifyInstance } from 'fastify';
import type { AccountContext } from '../context.ts';

interface Summary {
  /** Credits. */
  balance: number;
  /** Label of the newest active key; null without one. */
  key: string | null;
}

export function summaryRoutes(scope: FastifyInstance, { accounts }: AccountContext): void {
  scope.get(
    '/summary',
    { config: { allowsAnonymous: true } },
    async ({ user }): Promise<Summary | Record<string, never>> => {
      if (user?.account === undefined || user.restrictedTo !== undefined) return {};
      const { account_id } = user.account;
      const [{ credits }, keys] = await Promise.all([
        accounts.get(account_id),
        accounts.keys.list(account_id),
      ]);
      const [newest] = keys
        .filter(({ state }) => state === 'active')
        .toSorted((a, b) => b.created_at_ms - a.created_at_ms);
      return { balance: credits.balance, key: newest ? newest.label || newest.key_id : null };
    },
  );
}
