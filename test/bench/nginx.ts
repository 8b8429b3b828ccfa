/** A floor for static files: nginx with gzip_static, where it is installed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-ports.ts';
import { cpuTime } from './process-stats.ts';
import { end } from './processes.ts';

export interface Nginx extends AsyncDisposable {
  port: number;
  /** CPU time of all its processes in ms; null without /proc. */
  cpu(): Promise<number | null>;
}

const configuration = (dir: string, port: number): string => `
daemon off;
worker_processes 1;
pid ${dir}/nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off;
  default_type application/json;
  keepalive_requests 100000000;
  open_file_cache max=100;
  client_body_temp_path ${dir}; proxy_temp_path ${dir}; fastcgi_temp_path ${dir}; uwsgi_temp_path ${dir}; scgi_temp_path ${dir};
  server {
    listen 127.0.0.1:${port};
    root ${dir}/files;
    gzip_static on;
  }
}
`;

/**
 * Serves bodies (file name → plain and gzip bytes) from `dir` with one worker, as the gateway has.
 * @returns null when nginx is not installed
 */
export async function startNginx(
  dir: string,
  bodies: Map<string, { plain: Buffer; gzip: Buffer }>,
): Promise<Nginx | null> {
  const absent = spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status !== 0;
  if (absent) return null;
  await mkdir(join(dir, 'files'), { recursive: true });
  for (const [name, { plain, gzip }] of bodies) {
    await writeFile(join(dir, 'files', name), plain);
    await writeFile(join(dir, 'files', `${name}.gz`), gzip);
  }
  const port = await freePort();
  await writeFile(join(dir, 'nginx.conf'), configuration(dir, port));
  const child: ChildProcess = spawn('nginx', ['-p', dir, '-c', join(dir, 'nginx.conf')], {
    stdio: 'inherit',
  });
  for (let attempt = 0; attempt < 100; attempt++) {
    const up = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (up) return { port, cpu: () => cpuTime(child.pid), [Symbol.asyncDispose]: () => end(child) };
    await delay(20);
  }
  await end(child);
  return null;
}
