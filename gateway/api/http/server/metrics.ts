/**
 * What is kept of each answered request: a log line and Prometheus metrics, neither of which costs anything where it is off.
 * Metrics are served on a separate port so that they are never public by accident.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Logger } from 'pino';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RedisMetering } from '../../metering/metering.ts';
import type { Snapshots } from '../../snapshot/snapshot.ts';

/** What is known of a request when it is logged. */
export interface RequestFacts {
  /** Route name: `/v1/data`, or `none`. */
  route: string;
  keyId: string | null;
  creditsCharged: number;
}

export interface Answered {
  request_id: string;
  /** The client's own id, where it sent one that is safe to repeat. */
  client_request_id: string | null;
  method: string;
  status: number;
  duration_ms: number;
  facts: RequestFacts;
}

/** Called for every request once its answer is sent. */
export type Observer = (answered: Answered) => void;

/** Null where neither log nor metrics are on. */
export function requestObserver(log: Logger, metrics: Metrics | null): Observer | null {
  const logged = log.isLevelEnabled('info');
  if (!logged && metrics === null) return null;
  return ({ request_id, client_request_id, method, status, duration_ms, facts }) => {
    const { route, keyId, creditsCharged } = facts;
    metrics?.observe(route, status, duration_ms / 1000, creditsCharged);
    if (!logged) return;
    log.info({
      request_id,
      ...(client_request_id !== null && { client_request_id }),
      method,
      route,
      status,
      duration_ms: Math.round(duration_ms * 1000) / 1000,
      ...(keyId ? { key_id: keyId } : {}),
    });
  };
}

/** Seconds. */
const DURATION_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export interface MetricsText {
  /** Prometheus text format. */
  text(): Promise<string>;
}

export interface Metrics extends MetricsText {
  /** Counts one answer. @param seconds from first byte read to last byte sent. */
  observe(route: string, status: number, seconds: number, creditsCharged: number): void;
  /** Reports this process's metrics to the primary when it asks; see `groupMetrics`. */
  report(): void;
}

interface Measured {
  snapshots: Snapshots;
  metering: RedisMetering;
  /** Unix milliseconds. */
  now: () => number;
}

export function createMetrics({ snapshots, metering, now }: Measured): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'almanac_requests_total',
    help: 'Answers by route template and status',
    labelNames: ['route', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'almanac_request_seconds',
    help: 'Time from request to the end of the answer',
    labelNames: ['route', 'status'],
    buckets: DURATION_BUCKETS_S,
    registers: [registry],
  });
  const credits = new Counter({
    name: 'almanac_credits_charged_total',
    help: 'Credits charged by route template',
    labelNames: ['route'],
    registers: [registry],
  });
  registerReadings(registry, { snapshots, metering, now });
  return {
    observe(route, status, seconds, creditsCharged) {
      requests.inc({ route, status });
      duration.observe({ route, status }, seconds);
      if (creditsCharged > 0) credits.inc({ route }, creditsCharged);
    },
    text: () => registry.metrics(),
    report() {
      AggregatorRegistry.setRegistries(registry);
      new AggregatorRegistry();
    },
  };
}

/** The metrics of all workers combined: counts are summed, ages are the maximum. For the primary. */
export function groupMetrics(workers: () => number): MetricsText {
  const group = new AggregatorRegistry();
  new Gauge({
    name: 'almanac_workers',
    help: 'Worker processes that answer now',
    registers: [group],
    collect() {
      this.set(workers());
    },
  });
  return { text: async () => `${await group.metrics()}\n${await group.clusterMetrics()}` };
}

/** What is read when metrics are asked for. */
function registerReadings(registry: Registry, { snapshots, metering, now }: Measured): void {
  const total = (name: string, help: string, read: () => number): void => {
    const collect = (): void => {
      counter.reset();
      counter.inc(read());
    };
    const counter = new Counter({ name, help, registers: [registry], collect });
  };
  total(
    'almanac_anonymous_uncounted_total',
    'Requests without a key that were admitted while Redis was away or slow, beyond all limits',
    () => metering.uncounted,
  );
  total(
    'almanac_damaged_files_total',
    'Published files that were found to have another content',
    () => snapshots.damages,
  );
  type Read = () => number | undefined;
  const gauge = (name: string, help: string, read: Read, aggregator: 'sum' | 'max' = 'sum'): void => {
    const collect = (): void => {
      const value = read();
      if (value === undefined) made.reset();
      else made.set(value);
    };
    const made = new Gauge({ name, help, aggregator, registers: [registry], collect });
  };
  const age_s = (): number | undefined => {
    const snapshot = snapshots.current();
    return snapshot ? (now() - Date.parse(snapshot.catalogue.generatedAt)) / 1000 : undefined;
  };
  gauge('almanac_snapshot_age_seconds', 'Age of the data that is served', age_s, 'max');
  const observations = () => snapshots.current()?.observations;
  gauge('almanac_hot_cache_bytes', 'Memory of hot indicators', () => observations()?.hotBytes);
  gauge('almanac_hot_cache_hits', 'Reads served from hot indicators', () => observations()?.counts.hits);
  gauge('almanac_hot_cache_misses', 'Reads that went to Parquet', () => observations()?.counts.misses);
}

/** Starts the metrics server. @returns stops it. */
export async function serveMetrics(
  metrics: MetricsText,
  port: number,
  host: string,
): Promise<() => Promise<void>> {
  const server = metricsServer(metrics).listen(port, host);
  await once(server, 'listening');
  return async () => {
    server.close();
    server.closeAllConnections();
  };
}

/** Serves `GET /metrics` only. */
export function metricsServer(metrics: MetricsText): Server {
  return createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4' }).end(text),
      () => response.writeHead(500).end(),
    );
  });
}
