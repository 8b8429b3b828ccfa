/**
 * Pushes to a bucket of S3-compatible storage. Credentials and region come from the standard variables of AWS, which the
 * client reads itself. The storage checks every upload against the SHA-256 that is sent with it.
 */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { WITHHELD } from '../../../data/runtime/withheld.ts';
import { CURRENT_POINTER, PUBLICATION_LOG } from '../../../data/schema/snapshot.ts';
import { CommandError } from '../../runtime/errors.ts';
import type { PushTarget } from './push.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Without a byte in either direction. */
const IDLE_TIMEOUT_MS = 60_000;
const ATTEMPTS = 5;

/** Files that are replaced; all others never change. */
const REPLACED: ReadonlySet<string> = new Set([CURRENT_POINTER, PUBLICATION_LOG, WITHHELD]);

export interface S3Location {
  /** Null for AWS. */
  endpoint: string | null;
  bucket: string;
  /** Empty, or ends in `/`. */
  prefix: string;
}

/** `s3://bucket/prefix`, or with the address of the server `https://server/bucket/prefix`. @throws {CommandError} */
export function parseBucketUrl(to: string): S3Location {
  const url = URL.parse(to);
  const isPlain = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
  const segments = url?.pathname.split('/').filter((segment) => segment !== '') ?? [];
  const isAws = url?.protocol === 's3:';
  const [bucket = '', ...folders] = isAws ? [url.host, ...segments] : segments;
  if (!isPlain || bucket === '') {
    throw new CommandError(
      `"${to}" names no bucket: s3://bucket/prefix or https://server/bucket/prefix is expected`,
    );
  }
  const prefix = folders.map((folder) => `${decodeURIComponent(folder)}/`).join('');
  return { endpoint: isAws ? null : url.origin, bucket, prefix };
}

export class S3Target implements PushTarget {
  readonly name: string;
  readonly #client: S3Client;
  readonly #location: S3Location;
  readonly #signal: AbortSignal | undefined;

  /** @throws {CommandError} when the URL names no bucket. */
  constructor(to: string, signal: AbortSignal | undefined, config: S3ClientConfig = {}) {
    this.name = to;
    this.#location = parseBucketUrl(to);
    this.#signal = signal;
    const { endpoint } = this.#location;
    this.#client = new S3Client({
      // Servers other than AWS rarely have a name for each bucket, and not all know newer checksums.
      ...(endpoint !== null && { endpoint, forcePathStyle: true }),
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      maxAttempts: ATTEMPTS,
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        socketTimeout: IDLE_TIMEOUT_MS,
        requestTimeout: IDLE_TIMEOUT_MS,
        throwOnRequestTimeout: true,
      },
      ...config,
    });
  }

  get #options() {
    return this.#signal ? { abortSignal: this.#signal } : {};
  }

  #file(path: string): { Bucket: string; Key: string } {
    return { Bucket: this.#location.bucket, Key: this.#location.prefix + path };
  }

  async list(folder: string): Promise<Map<string, number>> {
    const { bucket: Bucket, prefix } = this.#location;
    const sizes = new Map<string, number>();
    let token: string | undefined;
    do {
      const page = await this.#try(() =>
        this.#client.send(
          new ListObjectsV2Command({
            Bucket,
            Prefix: `${prefix}${folder}/`,
            ...(token !== undefined && { ContinuationToken: token }),
          }),
          this.#options,
        ),
      );
      for (const { Key = '', Size = 0 } of page.Contents ?? []) sizes.set(Key.slice(prefix.length), Size);
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return sizes;
  }

  read(path: string): Promise<Buffer | null> {
    return this.#try(async () => {
      try {
        const { Body } = await this.#client.send(new GetObjectCommand(this.#file(path)), this.#options);
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    });
  }

  async write(path: string, content: Buffer, sha256: string): Promise<void> {
    const command = new PutObjectCommand({
      ...this.#file(path),
      Body: content,
      ContentLength: content.length,
      ContentType: 'application/octet-stream',
      CacheControl: REPLACED.has(path) ? 'no-cache' : 'public, max-age=31536000, immutable',
      ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
    });
    await this.#try(() => this.#client.send(command, this.#options));
  }

  async remove(path: string): Promise<void> {
    await this.#try(() => this.#client.send(new DeleteObjectCommand(this.#file(path)), this.#options));
  }

  close(): void {
    this.#client.destroy();
  }

  /** Answers of the storage and of the network are for the person who pushes; the client has retried them. */
  async #try<Result>(send: () => Promise<Result>): Promise<Result> {
    try {
      return await send();
    } catch (error) {
      this.#signal?.throwIfAborted();
      if (!(error instanceof Error)) throw error;
      throw new CommandError(`${this.name}: ${error.name}: ${error.message}`, { cause: error });
    }
  }
}
