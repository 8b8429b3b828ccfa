/** The stylesheet of all pages. Its path holds a digest of its content, so browsers may cache it forever. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

/** Of all pages. */
export const STYLES = Buffer.concat(
  ['base.css', 'forms.css', 'components.css', 'tables.css', 'account.css'].map((name) =>
    readFileSync(new URL(`styles/${name}`, import.meta.url)),
  ),
);
const digest = createHash('sha256').update(STYLES).digest('hex').slice(0, 12);

export const STYLESHEET_PATH = `/pages-${digest}.css`;

export function installStylesheet(app: FastifyInstance): void {
  app.get(STYLESHEET_PATH, (_request, reply) =>
    reply
      .header('Content-Type', 'text/css; charset=utf-8')
      .header('Cache-Control', 'public, max-age=31536000, immutable')
      .send(STYLES),
  );
}
