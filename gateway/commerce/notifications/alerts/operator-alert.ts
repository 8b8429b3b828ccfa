/** An alert to operators: its schema. */

export type AlertChannel = 'mail' | 'webhook';

/** Something that is wrong for a while, without addresses of people. */
export interface Condition {
  /** `held-run:world-bank`: the same as long as it lasts. */
  condition: string;
  severity: string;
  /** A sentence. */
  what: string;
  /** ISO 8601; null when it is not known. */
  since: string | null;
  /** The page of the operator area where it is dealt with. */
  url: string;
}

export interface OperatorAlert {
  id: string;
  /** ISO 8601. */
  at: string;
  /** Sent on request, to see whether alerts arrive. */
  isTest: boolean;
  begun: Condition[];
  ended: Condition[];
}
