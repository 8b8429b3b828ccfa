/** A route that serves files in memory by decoded path, ignoring the query. */
import type { Answer, Route } from './server.ts';

export function filesRoute(
  files: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
): Route {
  return (url: URL): Answer | null => {
    const body = files[decodeURIComponent(url.pathname).replace(/^\//, '')];
    return body === undefined ? null : { body, headers };
  };
}
