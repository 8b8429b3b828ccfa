/**
 * The register of invoices and credit notes: numbers without gaps by year (UTC), documents that never change.
 *
 * Number and document are written by one script, and the position in the order's list makes it idempotent, so that no crash
 * and no race leaves a gap or uses a number twice. On a cluster the register and an account lie on different nodes, so an
 * order and its invoice cannot be one script: a mark is written before the order changes and removed once its documents
 * are issued. The sweep completes what a crash left marked.
 */
import { readScript } from '../../../data/runtime/redis-scripts.ts';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { randomId } from '../../api/metering/metering.ts';
import {
  AccountError,
  accountFrom,
  nullIf,
  type OrderRecord,
  Store,
  type StoreDependencies,
} from '../store/store.ts';
import { readBilling } from './billing-details.ts';
import {
  creditNoteOf,
  type InvoiceDocument,
  type IssuedDocument,
  invoiceOf,
  issuedDocument,
  nextDocument,
} from './document.ts';
import type { SalesTerms } from './sales-terms.ts';

const ISSUE = readScript(import.meta.url, 'lua/issue-invoice.lua', 3);

const MARK_LENGTH = 12;
/** Longer than any command takes: an older mark is of a process that has died. */
const INTERRUPTED_MS = 600_000;
const SWEEP_BATCH = 100;
/** `2026-` */
const YEAR_PREFIX = 5;
const NUMBER = /^(\d{4})-\d{6,}$/;

interface RegisterDependencies extends StoreDependencies {
  terms: SalesTerms;
  /** @throws {AccountError} `order_unknown` */
  readOrder: (order_id: string) => Promise<OrderRecord>;
}

export class InvoiceRegister extends Store<RegisterDependencies> {
  /** Makes a change of an order and issues what it calls for. After a crash in between, the sweep issues it. */
  async follow<T>(order_id: string, change: () => Promise<T>): Promise<T> {
    const { redis, now, random } = this;
    const mark = `${order_id} ${randomId(MARK_LENGTH, random)}`;
    await redis.zadd(redisKeys.invoicesDue, now(), mark);
    const unmark = () => redis.zrem(redisKeys.invoicesDue, mark);
    const outcome = await change().catch(async (error: unknown) => {
      // A refusal changed nothing; anything else may have changed the order.
      if (error instanceof AccountError && error.code !== 'unavailable') await unmark();
      throw error;
    });
    await this.#complete(order_id);
    await unmark();
    return outcome;
  }

  /** Issues what interrupted changes have left to issue. */
  async sweep(): Promise<void> {
    const { redis, now } = this;
    const until_ms = now() - INTERRUPTED_MS;
    const marks = await redis.zrangebyscore(redisKeys.invoicesDue, '-inf', until_ms, 'LIMIT', 0, SWEEP_BATCH);
    for (const mark of marks) {
      const [order_id = ''] = mark.split(' ');
      // The process may have died before it wrote the order.
      await this.#complete(order_id).catch(nullIf('order_unknown'));
      await redis.zrem(redisKeys.invoicesDue, mark);
    }
  }

  /**
   * Reads the order again after each document: it may have moved on meanwhile. The documents are read before the order,
   * so that what another process issues for a later state is not taken for what is missing in an earlier one.
   */
  async #complete(order_id: string): Promise<void> {
    for (;;) {
      const issued = await this.issuedOf(order_id);
      const order = await this.deps.readOrder(order_id);
      const kind = nextDocument(order, issued);
      if (kind === null) return;
      const last = issued.at(-1);
      const document =
        kind === 'credit_note' && last ? creditNoteOf(last, this.now()) : await this.#invoiceOf(order);
      await this.#issue(document, issued.length);
    }
  }

  async #issue(document: IssuedDocument, position: number): Promise<void> {
    const year = String(new Date(document.issued_at_ms).getUTCFullYear());
    const [result] = await this.run(ISSUE, [
      redisKeys.invoicesLast,
      redisKeys.invoices(year),
      redisKeys.invoicesOfOrders,
      ...[year, document.order_id, position, JSON.stringify(document)],
    ]);
    if (result === 'refused') throw new Error(`order ${document.order_id} has lost invoices`);
  }

  async #invoiceOf(order: OrderRecord): Promise<IssuedDocument> {
    const { account_id } = order;
    const [hash, billing] = await Promise.all([
      this.redis.hgetall(redisKeys.account(account_id)),
      readBilling(this.redis, account_id),
    ]);
    const account = accountFrom(account_id, hash);
    return invoiceOf(order, { account, billing }, this.deps.terms, this.now());
  }

  /** The documents of an order, oldest first. */
  async issuedOf(order_id: string): Promise<InvoiceDocument[]> {
    const numbers = await this.redis.hget(redisKeys.invoicesOfOrders, order_id);
    return Promise.all((numbers?.split(' ') ?? []).map((number) => this.get(number)));
  }

  /** What was issued in a year, by number. @param year four digits */
  async ofYear(year: string): Promise<InvoiceDocument[]> {
    const stored = await this.redis.hgetall(redisKeys.invoices(year));
    return Object.entries(stored)
      .map(([number, json]) => ({ number, ...issuedDocument.parse(JSON.parse(json)) }))
      .sort((a, b) => parseSequence(a.number) - parseSequence(b.number));
  }

  /** What has a text in its number, in the name, address, e-mail address or VAT id of its buyer; newest first. */
  async search(text: string, limit: number): Promise<InvoiceDocument[]> {
    const wanted = text.toLowerCase();
    const years = (await this.redis.hkeys(redisKeys.invoicesLast)).sort().reverse();
    const found: InvoiceDocument[] = [];
    for (const year of years) {
      const documents = (await this.ofYear(year)).reverse();
      found.push(...documents.filter((one) => searchedText(one).includes(wanted)));
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  /** @throws {AccountError} `invoice_unknown` */
  async get(number: string): Promise<InvoiceDocument> {
    const year = NUMBER.exec(number)?.[1];
    if (year === undefined) throw unknownInvoice(number);
    const json = await this.redis.hget(redisKeys.invoices(year), number);
    if (json === null) throw unknownInvoice(number);
    return { number, ...issuedDocument.parse(JSON.parse(json)) };
  }
}

const searchedText = ({ number, buyer }: InvoiceDocument): string =>
  [number, ...buyer.lines, buyer.email, buyer.vat_id].join('\n').toLowerCase();

const parseSequence = (number: string): number => Number(number.slice(YEAR_PREFIX));

const unknownInvoice = (number: string): AccountError =>
  new AccountError('invoice_unknown', `There is no invoice ${number}.`);
