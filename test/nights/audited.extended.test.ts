/**
 * Ten nights with everything that may happen to a series: what docs/api.md, docs/claims.md and docs/receipts.md promise of
 * them is computed from what upstream had on each, and compared with all answers after each.
 */
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { LogSigner } from '../../build/editions/log-signer.ts';
import {
  parseKeys,
  readCheckpoint,
  verifyOneLog,
  verifyReceipt,
  verifyRows,
} from '../../data/proofs/verify-receipt.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { SEED } from '../environment.ts';
import { Service, type TestKey } from '../gateway/service.ts';
import { seededRandom } from '../seeded-random.ts';
import { type AuditedEdition, changesOf, contentIn, namesOf, revisionsOf, verdictOn } from './audit-model.ts';
import { AuditedNights, type AuditedSeries } from './audited-nights.ts';

const random = seededRandom(SEED ?? 35);
/** Three digits after the point, the last no 0 or 5. */
const value = (): number => random.between(1000, 8999) / 100 + random.pick([0.001, 0.003, 0.008]);
const rounded = (): number => Number(value().toFixed(3));
const KEYS = ['DEU 2000', 'FRA 2000', 'FRA 2001', 'FRA 2002', 'USA 2001'];
const figures = (): Map<string, number> => new Map(KEYS.map((key) => [key, rounded()]));
const SLUGS = ['cows', 'goats', 'hens', 'lamas', 'pigs', 'sheep'];

class Audit {
  readonly nights: AuditedNights;
  readonly differences: string[] = [];
  readonly verdicts = new Set<string>();
  readonly #service: Service;
  readonly #reader: TestKey;
  readonly #checkpoints: string[] = [];
  readonly #receipts: { receipt: string; rows: string }[] = [];

  constructor(nights: AuditedNights, service: Service, reader: TestKey) {
    this.nights = nights;
    this.#service = service;
    this.#reader = reader;
  }

  async compare(): Promise<void> {
    await this.#service.snapshots.check();
    await this.#compareEditions();
    await this.#compareChanges();
    for (const [asked, edition] of this.#moments()) await this.#compareFigures(asked, edition);
    for (const id of this.#ids) {
      await this.#compareRevisions(id);
      for (const name of namesOf(id, this.nights.today.aliases)) await this.#compareClaims(id, name);
    }
    await this.#compareProofs();
  }

  readonly #ask = (path: string) => this.#service.get(path, { key: this.#reader.key });

  #expect(what: string, answered: unknown, expected: unknown): void {
    if (isDeepStrictEqual(answered, expected)) return;
    const night = this.nights.editions.length;
    this.differences.push(
      `${night}: ${what}: ${JSON.stringify(answered)} instead of ${JSON.stringify(expected)}`,
    );
  }

  /** All that any edition had, by the ids of today. */
  get #ids(): string[] {
    const { aliases } = this.nights.today;
    const all = this.nights.editions.flatMap(({ content }) => [...content.keys()]);
    return [...new Set(all.map((id) => aliases.get(id) ?? id))].sort();
  }

  /** In the served line, of an edition or of the last one before it that stands. */
  #position({ line }: AuditedEdition): number {
    const standing = line.findLast((one) => this.nights.served.line.includes(one));
    return standing ? this.nights.served.line.indexOf(standing) : -1;
  }

  async #compareEditions(): Promise<void> {
    const { editions, rollbacks, neverServed, served } = this.nights;
    const lineOf = (id: string) => editions.find((one) => one.id === id)?.line ?? [];
    const expected = editions.toReversed().map((edition) => {
      const isAway = !served.line.includes(edition);
      const isBack = isAway && !neverServed.has(edition.id);
      const by = rollbacks.findLast(
        ({ from, to }) => lineOf(from).includes(edition) && !lineOf(to).includes(edition),
      );
      const why = isBack && by ? [by.at, by.reason] : [null, null];
      return [edition.id, edition.line.at(-2)?.id ?? null, isBack, ...why, isAway && !isBack];
    });
    const { data } = (await this.#ask('/v1/editions')).json;
    const answered = data.map((row: Record<string, unknown>) =>
      ['id', 'base', 'rolled_back', 'rolled_back_at', 'rollback_reason', 'never_served'].map((it) => row[it]),
    );
    this.#expect('editions', answered, expected);
  }

  async #compareChanges(): Promise<void> {
    const { today, rollbacks, editions } = this.nights;
    for (const since of [null, ...editions]) {
      const path = `/v1/changes${since ? `?since=${since.id}` : ''}`;
      const { data, meta } = (await this.#ask(path)).json;
      if (since === null) this.#expect('rollbacks', meta.rollbacks, rollbacks);
      const after = since === null ? -1 : this.#position(since);
      const answered = data.map(({ edition, added, withdrawn, renamed, redefined, revised }: never) => {
        const counted = (revised as { indicator: string }[]).map(({ indicator, ...counts }) => [
          indicator,
          counts,
        ]);
        return { edition, added, withdrawn, renamed, redefined, revised: Object.fromEntries(counted) };
      });
      const expected = today.served.line.slice(after + 1).map((edition) => ({
        edition: edition.id,
        ...changesOf(edition, today),
      }));
      this.#expect(path, answered, expected.toReversed());
    }
  }

  /** Ways to ask for an edition, with the one that is meant. */
  #moments(): Map<string, AuditedEdition | null> {
    const { editions, served } = this.nights;
    const at = (ms: number) => served.line.findLast(({ published_ms }) => published_ms <= ms) ?? null;
    const moments = new Map<string, AuditedEdition | null>([['2040-01-01', served]]);
    for (const edition of editions) {
      const { id, published_ms: ms } = edition;
      moments.set(id, edition);
      for (const one of [ms - 1, ms, ms + 1]) moments.set(new Date(one).toISOString(), at(one));
      const day = formatTimestamp(ms).slice(0, 10);
      moments.set(day, at(Date.parse(day) + 86_399_999));
    }
    return moments;
  }

  async #compareFigures(asked: string, edition: AuditedEdition | null): Promise<void> {
    const { aliases, isShown } = this.nights.today;
    for (const id of this.#ids) {
      for (const name of namesOf(id, aliases)) {
        const path = `/v1/data?indicator=${name}&as_of=${asked}`;
        const { status, headers, json } = await this.#ask(path);
        const held = edition && isShown(id) ? contentIn(edition, id, aliases) : null;
        if (edition === null || held === null) {
          const code = edition === null ? 'edition_not_found' : 'indicator_not_found';
          this.#expect(path, [status, json.error?.code], [404, code]);
          continue;
        }
        const rows = json.data?.map((row: Record<string, unknown>) => [`${row.iso3} ${row.year}`, row.value]);
        const { as_of, indicator, unit, name: title } = json.meta ?? {};
        const expected = [edition.id, asked, id, held.unit, held.name, [...held.figures].sort()];
        this.#expect(path, [headers['x-snapshot'], as_of, indicator, unit, title, rows], expected);
      }
    }
  }

  async #compareRevisions(id: string): Promise<void> {
    const { today, editions } = this.nights;
    for (const since of [null, ...editions]) {
      const path = `/v1/revisions?indicator=${id}${since ? `&since=${since.id}` : ''}`;
      const { status, json } = await this.#ask(path);
      if (!today.isShown(id)) {
        this.#expect(path, status, 404);
        continue;
      }
      const expected = revisionsOf(id, today, since === null ? -1 : this.#position(since));
      const names = Object.keys(expected[0] ?? {});
      const answered = json.data?.map((row: Record<string, unknown>) =>
        Object.fromEntries(names.map((it) => [it, row[it]])),
      );
      this.#expect(path, answered, expected);
    }
  }

  /** Of each figure that any edition had: itself, rounded, near it and far from it. */
  async #compareClaims(id: string, name: string): Promise<void> {
    const { today, editions } = this.nights;
    for (const key of [...KEYS, 'FRA 1999']) {
      const had = editions.flatMap((one) => contentIn(one, id, today.aliases)?.figures.get(key) ?? []);
      const claims = had.flatMap((figure) => [
        ...[String(figure), figure.toFixed(1), (figure * 1.004).toFixed(3), (figure * 1.5).toFixed(3)],
      ]);
      const texts = [...new Set(['1.5', ...claims])];
      const query = texts.map((text) => `claim=${name},${key.replace(' ', ',')},${text}`).join('&');
      const { data } = (await this.#ask(`/v1/verify?${query}`)).json;
      for (const [at, text] of texts.entries()) {
        const { verdict, earlier, redefined, unit, value, indicator, edition } = data[at];
        this.verdicts.add(verdict);
        const answered = { verdict, earlier, redefined, unit, value, indicator, edition };
        const expected = {
          ...verdictOn(text, id, key, today),
          indicator: id,
          edition: today.served.id,
        };
        this.#expect(`claim ${name} ${key} ${text}`, answered, expected);
      }
    }
  }

  /** Receipts of every series in every edition, the trees that they stand in, and all earlier ones again. */
  async #compareProofs(): Promise<void> {
    const keys = parseKeys((await this.#ask('/.well-known/almanac-keys.json')).text);
    const checkpoint = (await this.#ask('/v1/log/checkpoint')).text;
    const head = readCheckpoint(checkpoint, keys);
    this.#expect('size of the log', head.size, this.nights.editions.length);
    for (const earlier of this.#checkpoints.map((kept) => readCheckpoint(kept, keys))) {
      const proof = await this.#ask(`/v1/log/consistency?from=${earlier.size}&to=${head.size}`);
      verifyOneLog(earlier, head, earlier.size === head.size ? undefined : proof.text);
    }
    this.#checkpoints.push(checkpoint);
    const { editions, today } = this.nights;
    for (const edition of editions) {
      for (const id of this.#ids.filter(today.isShown)) {
        const held = contentIn(edition, id, today.aliases);
        const [key, figure] = [...(held?.figures ?? [])][0] ?? [];
        if (held === null || key === undefined) continue;
        const query = `indicator=${id}&as_of=${edition.id}`;
        const place = `country=${key.slice(0, 3)}&year=${key.slice(4)}`;
        const receipt = (await this.#ask(`/v1/receipts?${query}&${place}`)).text;
        const { row, descriptor, edition: proved } = verifyReceipt(receipt, keys);
        const answered = [
          row.value,
          descriptor.indicator,
          descriptor.unit,
          proved.edition,
          proved.published_at,
        ];
        const expected = [figure, held.id, held.unit, edition.id, formatTimestamp(edition.published_ms)];
        this.#expect(`receipt ${query}`, answered, expected);
        const fields = 'iso3,year,value,ci_lo,ci_hi,status,projected';
        const rows = (await this.#ask(`/v1/data?${query}&fields=${fields}`)).text;
        this.#receipts.push({ receipt, rows });
      }
    }
    for (const { receipt, rows } of this.#receipts) verifyRows(verifyReceipt(receipt, keys), rows);
  }
}

test('ten nights are answered as the pages say', async () => {
  const nights = await AuditedNights.create();
  const { series } = nights;
  await using world = nights.world;
  const withdrawn = new Map<string, AuditedSeries>();
  const change = (slug: string, more: Partial<AuditedSeries>): void => {
    const one = series.get(slug) ?? withdrawn.get(slug);
    if (one) series.set(slug, { ...one, ...more });
  };
  const withdraw = (slug: string): void => {
    const one = series.get(slug);
    if (one) withdrawn.set(slug, one);
    series.delete(slug);
  };
  const rename = (old: string, now: string, unit: string): void => {
    withdraw(old);
    const one = withdrawn.get(old);
    if (one) series.set(now, { ...one, unit });
  };
  const revise = (slug: string, key: string): void => void series.get(slug)?.figures.set(key, rounded());
  for (const slug of SLUGS)
    series.set(slug, { name: `The ${slug}`, unit: 'head', description: null, figures: figures() });
  await nights.pass();
  await using service = await Service.start({
    snapshots: world.settings.SNAPSHOT_DIR,
    settings: { SNAPSHOT_POLL_MS: '100000000' },
  });
  const audit = new Audit(nights, service, await service.account({ credits: 1e12 }));
  const night = async (killBefore = ''): Promise<AuditedEdition> => {
    await nights.pass(killBefore);
    await audit.compare();
    return nights.served;
  };
  revise('cows', 'FRA 2000');
  series.get('cows')?.figures.delete('FRA 2001');
  change('goats', { unit: 'hundred head', figures: figures() });
  withdraw('sheep');
  const second = await night();

  withdraw('pigs');
  change('hens', { description: 'Hens that lay.' });
  series.set('mules', { name: 'Mules', unit: 'head', description: null, figures: figures() });
  await night();
  await nights.rollBack(second, 'A column was read twice.');
  await audit.compare();

  revise('cows', 'FRA 2001');
  change('sheep', { unit: 'thousand head', figures: figures() });
  change('pigs', { name: 'Pigs of farms' });
  series.delete('mules');
  await night();

  revise('pigs', 'FRA 2001');
  await night('snapshots/current');

  rename('cows', 'cattle', 'animals');
  nights.enterRename('cows', 'cattle');
  await night();

  rename('lamas', 'llamas', 'pairs');
  change('goats', { unit: 'head', figures: figures() });
  await night();

  nights.enterRename('lamas', 'llamas');
  await new LogSigner(world.settings, world.snapshots).rotate();
  await night('snapshots/log.json');

  nights.disabled.add('atlas.pigs');
  await night();

  nights.disabled.delete('atlas.pigs');
  change('pigs', { unit: 'snouts', description: 'Pigs of all ages.' });
  await night();

  await nights.withhold('goats');
  await audit.compare();
  const before = nights.served;
  revise('hens', 'FRA 2001');
  const last = await night();
  await nights.rollBack(before, null);
  await audit.compare();
  await nights.rollBack(last, 'It was right.');
  await audit.compare();
  expect([nights.neverServed.size, nights.rollbacks.length, audit.verdicts.size]).toEqual([2, 3, 8]);
  expect(audit.differences).toEqual([]);
});
