/** A TCP proxy in front of a unix socket that loses requests or replies on demand. */
import { connect, createServer } from 'node:net';
import { listen } from '../../../listen.ts';

export type Fault =
  | 'none'
  /** Forwards requests; cuts the connection instead of the first reply. */
  | 'cut_reply'
  /** Cuts the connection instead of forwarding the first request. */
  | 'cut_request'
  /** Forwards requests and drops every reply. */
  | 'silent'
  /** Accepts no connection. */
  | 'closed';

export interface FaultyProxy {
  url: string;
  fault: Fault;
  /** Number of connections that were cut. */
  cuts: number;
  stop(): Promise<void>;
}

export async function startFaultyProxy(socketPath: string): Promise<FaultyProxy> {
  const server = createServer((client) => {
    if (proxy.fault === 'closed') {
      client.destroy();
      return;
    }
    const upstream = connect(socketPath);
    for (const socket of [client, upstream]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    const cut = (): void => {
      proxy.cuts++;
      client.destroy();
    };
    client.on('data', (request) => (proxy.fault === 'cut_request' ? cut() : upstream.write(request)));
    upstream.on('data', (reply) => {
      if (proxy.fault === 'cut_reply') cut();
      else if (proxy.fault !== 'silent') client.write(reply);
    });
  });
  const { port, stop } = await listen(server);
  const proxy: FaultyProxy = { url: `redis://127.0.0.1:${port}`, fault: 'none', cuts: 0, stop };
  return proxy;
}
