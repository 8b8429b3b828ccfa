/** Security headers of pages: nothing from elsewhere, no inline script or style, no frame but for embeds. */

const policy = (ancestors: string): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${ancestors}`,
  ].join('; ');

const REFERRER = ['Referrer-Policy', 'strict-origin-when-cross-origin'] as const;
const EMBEDDABLE = ['Content-Security-Policy', policy('*'), ...REFERRER];
const FRAMELESS = ['Content-Security-Policy', policy("'none'"), 'X-Frame-Options', 'DENY', ...REFERRER];

/** Alternating names and values. */
export const pageHeaders = (isEmbeddable: boolean): readonly string[] =>
  isEmbeddable ? EMBEDDABLE : FRAMELESS;
