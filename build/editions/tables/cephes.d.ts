/** Types of the functions in use. The package has types, but its `exports` hide them. */
declare module 'cephes' {
  /** Resolves when the functions can be called. */
  export const compiled: Promise<void>;
  /** The quantile of the standard normal distribution. */
  export function ndtri(probability: number): number;
  /** The standard normal distribution. */
  export function ndtr(value: number): number;
  /** The binomial distribution: the probability of at most `successes`. */
  export function bdtr(successes: number, trials: number, probability: number): number;
}
