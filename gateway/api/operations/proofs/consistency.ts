/** GET /log/consistency: the proof that a later log of snapshots extends an earlier one. */
import { z } from 'zod';
import { hexPath } from '../../../../data/proofs/receipt.ts';
import { envelope } from '../envelope.ts';
import { defineOperation, free, jsonAnswer, type Planned, refused } from '../operation.ts';
import { integer } from '../parameters/parameters.ts';

export const consistency = defineOperation({
  name: 'getConsistency',
  path: '/log/consistency',
  tag: 'Catalogue',
  summary: 'Proof that the log only grew',
  description:
    'The hashes that prove that the log of snapshots at size `to` begins with all entries of the log at size `from` ' +
    '(RFC 6962). The newest signed head is at `/log/checkpoint`.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  query: z.object({
    from: integer().describe('Size of the earlier log, at least 1'),
    to: integer().optional().describe('Size of the later log; default the newest'),
  }),
  answer: envelope(z.object({ from: z.int(), to: z.int(), path: z.array(z.string()) }), {}),
  errors: ['log_size_not_found'],
  async plan({ snapshot, query }): Promise<Planned> {
    const { tree } = await snapshot.editions.signedLog.head();
    const { from, to = tree.size } = query;
    if (from < 1 || from > to || to > tree.size)
      return refused('log_size_not_found', `Sizes go from 1 to ${tree.size}, and from must not be above to.`);
    const data = { from, to, path: hexPath(tree.first(to).consistency(from)) };
    return free(jsonAnswer(data, { generated_at: snapshot.generatedAt }));
  },
});
