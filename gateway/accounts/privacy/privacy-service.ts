/**
 * Carries out privacy requests.
 *
 * An export is prepared as gzipped JSON and can be downloaded for seven days; the first download closes the request.
 * An erasure is only planned by `prepare`; see `Erasures`.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { type DataExportDependencies, exportAccountData } from './data-export.ts';
import { type Erasure, type ErasureDependencies, Erasures } from './erasures.ts';
import type { PrivacyRequest } from './request-store.ts';

const EXPORT_TTL_MS = 7 * 86_400_000;
const BY = 'system';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

export interface PrivacyServiceDependencies extends DataExportDependencies, ErasureDependencies {}

export class PrivacyService {
  readonly #deps: PrivacyServiceDependencies;
  readonly #erasures: Erasures;

  constructor(dependencies: PrivacyServiceDependencies) {
    this.#deps = dependencies;
    this.#erasures = new Erasures(dependencies);
  }

  /** Prepares a pending request; leaves any other unchanged. */
  async prepare(request_id: string): Promise<PrivacyRequest> {
    const { requests } = this.#deps;
    const request = await requests.get(request_id);
    if (request.status !== 'pending') return request;
    const plan =
      request.kind === 'export'
        ? await this.#prepareExport(request)
        : await this.#erasures.plan(request.account_id);
    return requests.markReady(request_id, plan);
  }

  async #prepareExport({ request_id, account_id }: PrivacyRequest): Promise<string> {
    const text = JSON.stringify(await exportAccountData(this.#deps, account_id), null, 2);
    const file = redisKeys.exportFile(account_id, request_id);
    await this.#deps.redis.set(file, await compress(text), 'PX', EXPORT_TTL_MS);
    return `${Buffer.byteLength(text)} bytes of JSON, kept for seven days`;
  }

  /** The JSON of a prepared export, or null if it has expired. The first download closes the request. */
  async download(request: PrivacyRequest): Promise<Buffer | null> {
    const { redis, requests } = this.#deps;
    const file = await redis.getBuffer(redisKeys.exportFile(request.account_id, request.request_id));
    if (file === null) return null;
    if (request.status === 'ready')
      await requests.complete(request.request_id, { note: 'Downloaded.', by: BY });
    return decompress(file);
  }

  /** Whether the export can still be downloaded. */
  async hasExport({ account_id, request_id }: PrivacyRequest): Promise<boolean> {
    return (await this.#deps.redis.exists(redisKeys.exportFile(account_id, request_id))) === 1;
  }

  /** Pending requests of all accounts, oldest first. */
  async listUnprepared(): Promise<PrivacyRequest[]> {
    return (await this.#deps.requests.listOpen()).filter(({ status }) => status === 'pending');
  }

  /** Prepared erasures, oldest first. */
  async listErasable(): Promise<PrivacyRequest[]> {
    const open = await this.#deps.requests.listOpen();
    return open.filter(({ kind, status }) => kind === 'erasure' && status === 'ready');
  }

  /** Carries out an erasure; see `Erasures.erase`. */
  erase(request_id: string, by: string): Promise<Erasure> {
    return this.#erasures.erase(request_id, { by });
  }
}
