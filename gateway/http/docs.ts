/**
 * OpenAPI at `/openapi.json` and the API explorer at `/docs`. All files are served from here: the content security policy
 * forbids any other origin.
 */
import swagger, { type StaticDocumentSpec } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

export const OPENAPI_PATHS = ['/openapi.json', '/data/api/openapi.json'] as const;

const DOCS = '/docs';
const CONTENT_POLICY = {
  'default-src': "'self'",
  'img-src': "'self' data:",
  // The page's own scripts set styles on elements; styles cannot call anywhere under this policy.
  'style-src': "'self' 'unsafe-inline'",
  'base-uri': "'none'",
  'object-src': "'none'",
  'frame-ancestors': "'none'",
};

/** Replaces the logo of the library. */
const WORDMARK = `<svg xmlns="http://www.w3.org/2000/svg" width="132" height="40" role="img" aria-label="Almanac">
  <text x="0" y="28" font-family="Georgia, serif" font-size="28" fill="#fff">Almanac</text>
</svg>`;

export function installDocs(app: FastifyInstance, document: Record<string, unknown>): void {
  const bytes = Buffer.from(JSON.stringify(document));
  for (const path of OPENAPI_PATHS) {
    app.get(path, (_request, reply) =>
      reply
        .headers({
          'Access-Control-Allow-Origin': '*',
          'Cache-Control': 'public, max-age=3600',
          'Content-Type': 'application/json; charset=utf-8',
        })
        .send(bytes),
    );
  }
  app.get('/', (_request, reply) => reply.redirect(DOCS));
  const specification = { document } as unknown as StaticDocumentSpec;
  app.register(swagger, { mode: 'static', specification });
  app.register(swaggerUi, {
    routePrefix: DOCS,
    staticCSP: CONTENT_POLICY,
    theme: { title: 'Almanac: the API' },
    logo: { type: 'image/svg+xml', content: WORDMARK, href: '/', target: '_self' },
    uiConfig: {
      docExpansion: 'list',
      tryItOutEnabled: true,
      displayRequestDuration: true,
      supportedSubmitMethods: ['get'],
    },
  });
}
