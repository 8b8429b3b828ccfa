/** Where a person may be sent after signing in: a path of ours, never another site. */

/**
 * The path when it lies below `root` (`/admin`) and is nothing but a path and a query, else the root's own page.
 * Backslashes, control characters and a second slash are what browsers read as another host.
 */
export function localPath(path: unknown, root: string): string {
  const home = `${root}/`;
  if (typeof path !== 'string' || path.length > 2_000) return home;
  if (!/^\/[\x21-\x5b\x5d-\x7e]*$/.test(path) || path.includes('//')) return home;
  const bare = new URL(path, 'http://local').pathname;
  return bare === root || bare.startsWith(home) ? path : home;
}
