/**
 * Works through items a few at a time. When one fails no further one is begun, and the failure is thrown only after
 * all that was under way has ended: whoever cleans up then meets nobody still at work.
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
