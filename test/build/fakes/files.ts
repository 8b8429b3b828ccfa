/** A route that serves files written in the test, by their decoded path; a query does not change the answer. */
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
