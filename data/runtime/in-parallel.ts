/** Bounded concurrency over a list that may be generated lazily. */

/**
 * Calls `work` for every item, at most `limit` at a time, and takes an item only when a call can start. After a failure no
 * further call starts, and the error is thrown when the active calls have ended, so that cleaning up does not race with them.
 */
export async function inParallel<Item>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    while (!hasFailed) {
      try {
        const next = queue.next();
        if (next.done) return;
        await work(next.value);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: limit }, worker));
  const failure = ended.find((one) => one.status === 'rejected');
  if (failure) throw failure.reason;
}
