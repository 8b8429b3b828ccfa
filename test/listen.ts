/** Servers of tests, on ports of this machine. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

export interface Listening extends AsyncDisposable {
  port: number;
  url: string;
  /** Closes its connections, too. */
  stop(): Promise<void>;
}

/** @param port a free one by default */
export async function listen(server: Server, port = 0): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  const { port: own } = server.address() as AddressInfo;
  return { port: own, url: `http://127.0.0.1:${own}`, stop, [Symbol.asyncDispose]: stop };
}
