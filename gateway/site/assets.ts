/** Static files of the site. A path holds a digest of its content, so that browsers may keep it for ever. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { outlinesFile } from './charts/map.ts';

interface StaticFile {
  path: string;
  type: string;
  plain: Buffer;
  /** Compressed at the first request, off the main thread: at the start it would take every process a tenth of a second. */
  br: () => Promise<Buffer>;
  gzip: () => Promise<Buffer>;
}

const brotliOf = promisify(brotliCompress);
const gzipOf = promisify(gzip);

function once(make: () => Promise<Buffer>): () => Promise<Buffer> {
  let made: Promise<Buffer> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

const read = (name: string): Buffer => readFileSync(new URL(name, import.meta.url));

function staticFile(name: string, extension: string, type: string, plain: Buffer): StaticFile {
  const digest = createHash('sha256').update(plain).digest('hex').slice(0, 12);
  const path = `/assets/${name}-${digest}.${extension}`;
  return { path, type, plain, br: once(() => brotliOf(plain)), gzip: once(() => gzipOf(plain)) };
}

/** One stylesheet for the site and for the areas that people sign in to. */
const STYLES = [
  '../web/styles/base',
  '../web/styles/forms',
  '../web/styles/components',
  '../web/styles/tables',
  '../web/styles/account',
  'styles/site',
  'styles/charts',
  'styles/countries',
  'styles/compare',
  'styles/docs',
  'styles/indicators',
];

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const SVG = 'image/svg+xml';

const FILES = {
  stylesheet: staticFile('site', 'css', CSS, Buffer.concat(STYLES.map((name) => read(`${name}.css`)))),
  script: staticFile('site', 'js', JAVASCRIPT, read('island.js')),
  icon: staticFile('icon', 'svg', SVG, read('icon.svg')),
  outlines: staticFile('world', 'svg', SVG, Buffer.from(outlinesFile())),
};

/** Paths for templates. */
export const ASSET_PATHS: Readonly<Record<keyof typeof FILES, string>> = {
  stylesheet: FILES.stylesheet.path,
  script: FILES.script.path,
  icon: FILES.icon.path,
  outlines: FILES.outlines.path,
};

export function installAssets(app: FastifyInstance): void {
  for (const { path, type, plain, br, gzip: gz } of Object.values(FILES)) {
    const handler = async ({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const accepted = headers['accept-encoding'] ?? '';
      reply.headers({ 'Cache-Control': 'public, max-age=31536000, immutable', Vary: 'Accept-Encoding' });
      reply.type(type);
      if (/\bbr\b/.test(accepted)) return reply.header('Content-Encoding', 'br').send(await br());
      if (/\bgzip\b/.test(accepted)) return reply.header('Content-Encoding', 'gzip').send(await gz());
      return reply.send(plain);
    };
    app.route({ method: ['GET', 'HEAD'], url: path, handler });
  }
}
