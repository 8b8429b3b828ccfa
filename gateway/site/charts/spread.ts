/** Places of labels along a line. */

interface Room {
  /** Least distance of two labels. */
  distance: number;
  from: number;
  to: number;
}

/**
 * Moves places as little as needed so that none are closer than the distance and all lie in the room: labels that would
 * overlap form a block around the middle of their places. @returns places in the order given
 */
export function spread(wanted: readonly number[], { distance, from, to }: Room): number[] {
  const order = wanted.map((_, at) => at).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  const blocks: { members: number[]; start: number }[] = [];
  for (const member of order) {
    let block = { members: [member], start: wanted[member] ?? 0 };
    for (let above = blocks.at(-1); above && overlaps(above, block, distance); above = blocks.at(-1)) {
      blocks.pop();
      const members = [...above.members, ...block.members];
      const ideal = members.reduce((sum, each, at) => sum + (wanted[each] ?? 0) - at * distance, 0);
      block = { members, start: ideal / members.length };
    }
    block.start = Math.max(from, Math.min(block.start, to - (block.members.length - 1) * distance));
    blocks.push(block);
  }
  return placesOf(blocks, wanted.length, { distance, from, to });
}

const overlaps = (
  above: { members: number[]; start: number },
  below: { start: number },
  distance: number,
): boolean => below.start < above.start + above.members.length * distance;

/** From the last to the first: a block that was held back by the end pushes those before it. */
function placesOf(
  blocks: readonly { members: number[]; start: number }[],
  length: number,
  { distance, from }: Room,
): number[] {
  const places = new Array<number>(length).fill(from);
  let next = Infinity;
  for (const { members, start } of blocks.toReversed())
    for (const [at, member] of [...members.entries()].reverse()) {
      const place = Math.min(start + at * distance, next - distance);
      places[member] = place;
      next = place;
    }
  return places;
}
