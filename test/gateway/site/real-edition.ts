/** The service over a build of the whole mirror, and what its API says of each figure. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { CountryRecord, IndicatorRecord } from '../../../data/schema/records.ts';
import { observationsFile, type SeriesOpening } from '../../../data/schema/snapshot.ts';
import { LOAD_LIMITS, LoadShedder } from '../../../gateway/api/http/server/overload.ts';
import { query } from '../../build/parquet-readers.ts';
import { describeWithMirror } from '../../mirror.ts';
import { silentLog } from '../../redis.ts';
import { buildMirror, type SharedBuild } from '../../shared-builds.ts';
import { type OpeningRow, openingOf } from '../opening-year.ts';
import { Service } from '../service.ts';

const PAGE = 500;
const SEED = 'figures of pages';

/** A figure as the API gives it. */
export interface TrueFigure {
  iso3: string;
  year: number;
  value: number;
  ci_lo: number | null;
  ci_hi: number | null;
  projected: boolean;
}

export interface TrueRank extends TrueFigure {
  name: string;
  rank: number | null;
  rank_delta_1y: number | null;
}

interface Range {
  countries?: readonly string[];
  from?: number;
  to?: number;
}

const hasValue = ({ value }: { value: number | null }): boolean => value !== null;

class RealEdition {
  service!: Service;
  built!: SharedBuild;
  /** An API key that can pay for all of it. */
  key = '';
  readonly records: IndicatorRecord[] = [];
  readonly #openings = new Map<string, SeriesOpening | undefined>();
  /** By name. */
  readonly countries: CountryRecord[] = [];

  /** @param mirror directory from `describeWithMirror` */
  async start(mirror: string): Promise<void> {
    this.built = await buildMirror(mirror);
    // A machine that is busy with other tests is no overload of the service.
    const loadShedder = new LoadShedder({ ...LOAD_LIMITS, lag_ms: Infinity }, silentLog);
    this.service = await Service.start({ snapshots: this.built.snapshots, loadShedder });
    this.key = (await this.service.account({ credits: 100_000_000 })).key;
    for (let total = 1; this.records.length < total; ) {
      const { data, meta } = await this.json(`/v1/indicators?limit=${PAGE}&offset=${this.records.length}`);
      this.records.push(...data);
      total = meta.total;
    }
    this.countries.push(...(await this.json('/v1/countries')).data);
  }

  /** Data of a call that must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is that of the operation, which the service's own check holds
  async json(path: string): Promise<any> {
    const { status, json } = await this.service.get(path, { key: this.key });
    if (status !== 200) throw new Error(`${path}: status ${status}`);
    return json;
  }

  /** Text of a page or picture that must be there. */
  async page(path: string): Promise<string> {
    const { status, text } = await this.service.get(path);
    if (status !== 200) throw new Error(`${path}: status ${status}`);
    return text;
  }

  /** So many of the items, always the same ones and in no order that the catalogue knows. */
  sample<Item>(items: readonly Item[], count: number, keyOf: (item: Item) => string): Item[] {
    const digest = (item: Item): string =>
      createHash('sha256')
        .update(SEED + keyOf(item))
        .digest('hex');
    return items
      .map((item) => ({ item, digest: digest(item) }))
      .sort((a, b) => (a.digest < b.digest ? -1 : 1))
      .slice(0, count)
      .map(({ item }) => item);
  }

  /**
   * Figures by country and year, without rows that have no value. What may not be exported is read from the published
   * file.
   */
  async history(record: IndicatorRecord, range: Range): Promise<TrueFigure[]> {
    const rows = record.access_tier === 'open' ? this.#called(record, range) : this.#stored(record, range);
    return (await rows).filter(hasValue);
  }

  async #called({ id }: IndicatorRecord, { countries, from, to }: Range): Promise<TrueFigure[]> {
    const sent = new URLSearchParams({ indicator: id });
    if (countries) sent.set('countries', countries.join());
    if (from !== undefined) sent.set('from', String(from));
    if (to !== undefined) sent.set('to', String(to));
    return (await this.json(`/v1/data?${sent}`)).data;
  }

  async #stored({ id }: IndicatorRecord, { countries, from, to }: Range): Promise<TrueFigure[]> {
    const file = join(this.built.snapshot, observationsFile(id));
    const rows = await query(
      `SELECT iso3, year, value, ci_lo, ci_hi, projected FROM read_parquet('${file}') ORDER BY iso3, year`,
    );
    return (rows as unknown as TrueFigure[]).filter(
      ({ iso3, year }) =>
        (countries?.includes(iso3) ?? true) && year >= (from ?? -Infinity) && year <= (to ?? Infinity),
    );
  }

  /** What sources say of figures of a year, by country. */
  async statuses({ id, access_tier }: IndicatorRecord, year: number): Promise<Map<string, string>> {
    const file = join(this.built.snapshot, observationsFile(id));
    const rows: unknown[] =
      access_tier === 'open'
        ? (await this.json(`/v1/data?indicator=${id}&from=${year}&to=${year}&fields=iso3,status`)).data
        : await query(`SELECT iso3, status FROM read_parquet('${file}') WHERE year = ${year}`);
    return new Map(
      (rows as { iso3: string; status: string | null }[]).flatMap(({ iso3, status }) =>
        status === null ? [] : [[iso3, status] as const],
      ),
    );
  }

  /** The year that pages of a series open on, by the rule written a second time; undefined for a series without figures. */
  async opening({ id }: IndicatorRecord): Promise<SeriesOpening | undefined> {
    if (!this.#openings.has(id)) {
      const file = join(this.built.snapshot, observationsFile(id));
      const rows = await query(`SELECT iso3, year, value, rank, projected FROM read_parquet('${file}')`);
      this.#openings.set(id, openingOf(rows as unknown as OpeningRow[]));
    }
    return this.#openings.get(id);
  }

  /** Figures of that year, in the order in which they are listed; empty for a series without any. */
  async opened(record: IndicatorRecord): Promise<TrueRank[]> {
    const { id, no_rank } = record;
    const year = (await this.opening(record))?.year;
    if (year === undefined) return [];
    if (!no_rank) {
      const { data } = await this.json(`/v1/rankings/${id}?year=${year}`);
      return (data as TrueRank[]).filter(hasValue).map((row) => ({ ...row, year }));
    }
    const rows = await this.history(record, { from: year, to: year });
    return this.countries
      .flatMap(({ iso3, name }) => {
        const row = rows.find((one) => one.iso3 === iso3);
        return row ? [{ ...row, name, rank: null, rank_delta_1y: null }] : [];
      })
      .sort((a, b) => b.value - a.value);
  }
}

/** Tests over the build of the mirror, which is there before the hooks of the tests run. */
export const describeReal = (name: string, tests: (real: RealEdition) => void): void =>
  describeWithMirror(name, (mirror) => {
    const real = new RealEdition();
    beforeAll(() => real.start(mirror));
    afterAll(() => real.service?.stop());
    tests(real);
  });
