/** `Link` headers of an answer: the call by the id of today, and documents about what is answered. */
import type { Content, Description } from '../../operations/operation.ts';
import { headerAddress } from './header-text.ts';
import { renameHeaders } from './rename-headers.ts';

/** Alternating names and values. @param request whose URL is read for a former id only: working it out costs time. */
export function linkHeaders({ alias, describedBy }: Content, request: { readonly url: string }): string[] {
  const renamed = alias === undefined ? [] : renameHeaders(alias, request.url);
  return describedBy === undefined ? renamed : [...renamed, 'Link', descriptionLinks(describedBy)];
}

/** Of the Protocol for Web Description Resources (POWDER). */
const descriptionLinks = (descriptions: readonly Description[]): string =>
  descriptions
    .map(({ path, mediaType }) => {
      const type = mediaType.split(';', 1)[0];
      return `<${headerAddress(path)}>; rel="describedby"; type="${type}"`;
    })
    .join(', ');
