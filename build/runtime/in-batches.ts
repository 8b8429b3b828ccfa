/**
 * Splits items into batches of neighbours whose sizes together stay within a budget. An item above the budget is a batch of
 * its own.
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
