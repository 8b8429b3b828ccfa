/**
 * The parts of `npm run faults`: one line each. A part runs in a process of its own, with a temporary directory of its
 * own, and is ended when its time is up.
 */

/** Told of every promise a part has put to the test: in words, with a figure, and whether it was kept. */
export type Reporter = (promise: string, figure: string, ok: boolean) => void;

export interface Part {
  name: string;
  /** What is done to the service, in a few words. */
  fault: string;
  limit_s: number;
  load(): Promise<(report: Reporter) => Promise<void>>;
}

export const PARTS: readonly Part[] = [];
