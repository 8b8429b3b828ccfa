/** Work on many items: bounded concurrency, and batches of bounded size. */

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

/**
 * Splits items into batches of neighbours whose sizes together stay within a budget. An item above it is a batch of its own.
 * @param belongs whether an item may join the batch that begins with `first`
 */
export function inBatches<Item>(
  items: Iterable<Item>,
  budget: number,
  sizeOf: (item: Item) => number,
  belongs: (item: Item, first: Item) => boolean = () => true,
): [Item, ...Item[]][] {
  const batches: [Item, ...Item[]][] = [];
  let room = 0;
  for (const item of items) {
    const batch = batches.at(-1);
    room -= sizeOf(item);
    if (batch && room >= 0 && belongs(item, batch[0])) {
      batch.push(item);
    } else {
      batches.push([item]);
      room = budget - sizeOf(item);
    }
  }
  return batches;
}
