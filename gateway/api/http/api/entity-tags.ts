/** Entity tags (RFC 9110, section 13). */

/** Whether `If-None-Match` names the tag. Weak tags match, because an intermediate cache may have weakened ours. */
export function isNotModified(tag: string | null, ifNoneMatch: string | undefined): boolean {
  if (tag === null || ifNoneMatch === undefined) return false;
  if (ifNoneMatch === tag) return true;
  return ifNoneMatch.split(',').some((candidate) => {
    const trimmed = candidate.trim();
    return trimmed === '*' || (trimmed.startsWith('W/') ? trimmed.slice(2) : trimmed) === tag;
  });
}
