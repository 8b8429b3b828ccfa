/** `Prefer: handling=strict` (RFC 7240), and the headers that say what became of the parameters. */

const HANDLING = /^handling\s*=\s*"?([a-z]+)"?$/i;

/** Whether a `Prefer` header asks that nothing be ignored. Of a preference that is stated twice the first counts. */
export function prefersStrict(prefer: string | string[] | undefined): boolean {
  if (prefer === undefined) return false;
  for (const preference of String(prefer).split(',')) {
    const [, handling] = HANDLING.exec(preference.split(';', 1)[0]?.trim() ?? '') ?? [];
    if (handling !== undefined) return handling.toLowerCase() === 'strict';
  }
  return false;
}

/** So that twenty of them fit into a header, however they are encoded. */
const NAME_MAX = 40;
const encoded = (name: string): string => encodeURIComponent(name.slice(0, NAME_MAX).toWellFormed());

const IGNORED = 'X-Ignored-Parameters';
const APPLIED = 'Preference-Applied';

/** @param ignored names of parameters that were ignored. */
export function strictnessHeaders(isStrict: boolean, ignored: readonly string[]): string[] {
  const headers = [
    ...(isStrict ? [APPLIED, 'handling=strict'] : []),
    ...(ignored.length > 0 ? [IGNORED, ignored.map(encoded).join(', ')] : []),
  ];
  // Only where there is something to ignore does an answer depend on `Prefer`.
  return headers.length === 0
    ? []
    : [...headers, 'Vary', 'Prefer', 'Access-Control-Expose-Headers', `${APPLIED}, ${IGNORED}`];
}
