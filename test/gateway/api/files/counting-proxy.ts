/** The public address of a service in a test: it passes requests on and counts them and the bytes of their answers. */
import { createServer, request, type Server } from 'node:http';
import { type Listening, listen } from '../../../listen.ts';

export interface Passed {
  method: string;
  /** Without parameters. */
  path: string;
  range: string | null;
  status: number;
  bytes: number;
  /** Credits. */
  charged: number;
}

export class CountingProxy {
  readonly url: string;
  readonly stop: () => Promise<void>;
  /** In the order of their answers. */
  readonly passed: Passed[] = [];
  /** Of the service. */
  port = 0;

  private constructor(server: Server, { url: own, stop }: Listening) {
    this.url = own;
    this.stop = stop;
    server.on('request', ({ method = '', url = '', headers }, response) => {
      const options = { host: '127.0.0.1', port: this.port, method, path: url, headers };
      const sent = request(options, (answer) => {
        const { statusCode: status = 0 } = answer;
        const passed: Passed = {
          method,
          path: url.split('?', 1)[0] ?? '',
          range: headers.range ?? null,
          status,
          bytes: 0,
          charged: Number(answer.headers['x-credits-charged'] ?? 0),
        };
        this.passed.push(passed);
        answer.on('data', ({ length }: Buffer) => {
          passed.bytes += length;
        });
        response.writeHead(status, answer.rawHeaders);
        answer.pipe(response);
      });
      sent.on('error', () => response.destroy());
      sent.end();
    });
  }

  static async start(): Promise<CountingProxy> {
    const server = createServer();
    return new CountingProxy(server, await listen(server));
  }

  /** What was counted since it was last taken. */
  take(): Passed[] {
    return this.passed.splice(0);
  }
}
