/** A minimal TCP load balancer: each connection goes to the next gateway that accepts it. */
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../listen.ts';

export interface Balancer extends AsyncDisposable {
  port: number;
  /** Ports of the gateways; may change at any time. */
  readonly backends: Set<number>;
}

export async function startBalancer(): Promise<Balancer> {
  const backends = new Set<number>();
  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {});
    const ports = [...backends];
    const first = turn++;
    const choices = ports.map((_, index) => ports[(first + index) % ports.length] ?? 0);
    join(client, choices);
  });
  return { ...(await listen(server)), backends };
}

/** Connects a client to the first gateway that accepts, or closes it. */
function join(client: Socket, [port, ...others]: number[]): void {
  if (port === undefined) {
    client.destroy();
    return;
  }
  const upstream = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  let isJoined = false;
  upstream.on('connect', () => {
    isJoined = true;
    client.pipe(upstream).pipe(client);
  });
  upstream.on('error', () => {
    if (!isJoined) join(client, others);
  });
  upstream.on('close', () => {
    if (isJoined) client.destroy();
  });
  client.on('close', () => upstream.destroy());
}
