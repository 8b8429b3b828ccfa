/** A route that serves files in memory by decoded path, ignoring the query. */
import type { FakeResponse, Route } from './server.ts';

export function filesRoute(
  files: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
): Route {
  return (url: URL): FakeResponse | null => {
    const body = files[decodeURIComponent(url.pathname).replace(/^\//, '')];
    return body === undefined ? null : { body, headers };
  };
}
