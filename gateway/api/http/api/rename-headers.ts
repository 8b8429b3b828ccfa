/** Headers of an answer to a call that named an indicator by a former id. */
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import { sunsetOf } from '../../snapshot/editions/aliases.ts';
import { headerAddress } from './header-text.ts';

/**
 * `Deprecation` (RFC 9745): the day of the rename. `Sunset` (RFC 8594): when the former id answers no more.
 * `Link` with `successor-version` (RFC 5829): the same call by the id of today.
 */
export function renameHeaders(alias: IndicatorAlias, url: string): string[] {
  const { old, new: now, since } = alias;
  const headers = ['Deprecation', `@${Date.parse(since) / 1000}`];
  const sunset = sunsetOf(alias);
  if (sunset !== null) headers.push('Sunset', new Date(sunset).toUTCString());
  // A caller may have escaped characters of the id that need no escape.
  const successor = url.includes(old) ? url.replace(old, now) : `/v1/indicators/${now}`;
  headers.push('Link', `<${headerAddress(successor)}>; rel="successor-version"`);
  return [...headers, 'Access-Control-Expose-Headers', 'Deprecation, Link, Sunset'];
}
