/** An alert to operators: its schema. */
import { z } from 'zod';

/** Something that is wrong for a while, without addresses of people. */
const condition = z.strictObject({
  /** `held-run:world-bank`: the same as long as it lasts. */
  condition: z.string(),
  severity: z.string(),
  /** A sentence. */
  what: z.string(),
  /** ISO 8601; null when it is not known. */
  since: z.string().nullable(),
  /** The page of the operator area where it is dealt with. */
  url: z.string(),
});

export const operatorAlert = z.strictObject({
  id: z.string(),
  /** ISO 8601. */
  at: z.string(),
  /** Sent on request, to see whether alerts arrive. */
  isTest: z.boolean(),
  begun: z.array(condition),
  ended: z.array(condition),
});

export type Condition = z.infer<typeof condition>;
export type OperatorAlert = z.infer<typeof operatorAlert>;
