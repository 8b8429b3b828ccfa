/**
 * What hosts and directories are told of the server: name and icons, the tools with hints and security schemes, and how a
 * person signs in. Security schemes are ChatGPT's extension of the protocol; it reads them beside a tool's name or in `_meta`.
 */
import type { Icon, Implementation } from '@modelcontextprotocol/server';
import { isFree, type Tool } from './tool.ts';
import { TOOLS } from './tools/registry.ts';

/** What a host asks a person for: the scope of every key. */
const SIGN_IN_SCOPE = 'read';
/** Metadata of `/mcp` as a protected resource (RFC 9728). */
const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/** Of the service: that of its package. */
const VERSION = '0.1.0';

export interface Described {
  /** Where callers reach the service. */
  publicUrl: string;
  /** Pictures of it, by path. */
  icons?: readonly (Icon & { src: `/${string}` })[];
  /** Whether people can sign in here, so that a host needs no key. */
  hasSignIn?: boolean;
}

export interface Description {
  implementation: Implementation;
  /** JSON text. */
  toolList: string;
  /** As `WWW-Authenticate` (RFC 6750, RFC 9728). @param reason why a credential does not work; absent where none was sent */
  challenge(reason?: string): string;
}

export function describeServer({ publicUrl, icons = [], hasSignIn = false }: Described): Description {
  const shown = icons.map((icon) => ({ ...icon, src: publicUrl + icon.src }));
  const metadata = `resource_metadata="${publicUrl}${RESOURCE_METADATA_PATH}", scope="${SIGN_IN_SCOPE}"`;
  return {
    implementation: {
      name: 'almanac',
      title: 'Almanac',
      version: VERSION,
      websiteUrl: publicUrl,
      ...(shown.length > 0 && { icons: shown }),
    },
    toolList: JSON.stringify(TOOLS.map((tool) => listed(tool, shown.slice(0, 1), hasSignIn))),
    challenge(reason) {
      const parts = hasSignIn ? [metadata] : [];
      if (reason !== undefined) parts.push(`error="invalid_token", error_description="${quotable(reason)}"`);
      return ['Bearer', parts.join(', ')].join(' ').trimEnd();
    },
  };
}

const SIGNED_IN = { type: 'oauth2', scopes: [SIGN_IN_SCOPE] };
/** Signed in, a free tool is counted for its account instead of the address, which users of a host share. */
const EITHER = [{ type: 'noauth' }, SIGNED_IN];

function listed(tool: Tool, icons: readonly Icon[], hasSignIn: boolean) {
  const { name, title, description, inputSchema, outputSchema } = tool;
  const securitySchemes = isFree(tool) ? EITHER : [SIGNED_IN];
  return {
    name,
    title,
    description,
    inputSchema: { type: 'object', ...inputSchema },
    outputSchema: { type: 'object', ...outputSchema },
    annotations: {
      title,
      readOnlyHint: true,
      destructiveHint: false,
      // A repeated call is paid again.
      idempotentHint: isFree(tool),
      openWorldHint: false,
    },
    ...(icons.length > 0 && { icons }),
    ...(hasSignIn && { securitySchemes, _meta: { securitySchemes } }),
  };
}

/** Without what a quoted string may not hold. */
const quotable = (text: string): string => text.replaceAll(/[^\x20-\x7e]|["\\]/g, '');
