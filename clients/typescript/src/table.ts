/** What a call answers: rows, with everything that belongs to them. */
import type { DataQuestion } from './questions.ts';

/** An indicator in an answer. */
export interface Series {
  id: string;
  name: string | null;
  unit: string | null;
  licence: string | null;
  licence_url: string | null;
  /** The credit line to publish with the figures. */
  attribution: string | null;
}

/** Where an answer comes from. */
export interface Provenance {
  /** The snapshot that answered; `asOf` takes it. */
  edition: string | null;
  /** When it was built, ISO 8601; it is published seconds later. */
  generatedAt: string | null;
  /** Credits charged; null where an attempt was charged whose answer was lost. */
  price: number | null;
  /** Credits left; null for calls without a key. */
  balance: number | null;
  requestId: string | null;
  series: readonly Series[];
  /** Codes asked for that no country has. */
  unmatched: readonly string[];
}

/** What travels with figures, in the form in which the Python client attaches it to frames. All of it is valid in JSON. */
export interface Attributes {
  edition: string | null;
  generated_at: string | null;
  licence: string;
  attribution: string;
  citation: string;
  /** By indicator. */
  units: Record<string, string | null>;
}

/** What figures answer for: edition, licences, credit line and references of their indicators. */
export class Sourced {
  readonly provenance: Provenance;

  constructor(provenance: Provenance) {
    this.provenance = provenance;
  }

  /** The snapshot that answered. */
  get edition(): string | null {
    return this.provenance.edition;
  }

  /** Credits charged; null where an attempt was charged whose answer was lost. */
  get price(): number | null {
    return this.provenance.price;
  }

  /** Names of the licences, each once. */
  get licences(): string[] {
    return distinct(this.provenance.series.map(({ licence }) => licence));
  }

  /** The credit line to publish with the figures. */
  get attribution(): string {
    return distinct(this.provenance.series.map(({ attribution }) => attribution)).join('; ');
  }

  /** A reference for each indicator, one a line. */
  get citation(): string {
    const { series, generatedAt, edition } = this.provenance;
    const day = generatedAt === null ? '' : ` of ${generatedAt.slice(0, 10)}`;
    const reference = ({ id, name, licence, attribution }: Series): string =>
      `${attribution}${licence ? ` (${licence})` : ''}: ${name ? `${name}, ` : ''}${id}. Almanac, snapshot ${edition}${day}.`;
    return series.map(reference).join('\n');
  }

  get attrs(): Attributes {
    return {
      edition: this.edition,
      generated_at: this.provenance.generatedAt,
      licence: this.licences.join('; '),
      attribution: this.attribution,
      citation: this.citation,
      units: Object.fromEntries(this.provenance.series.map(({ id, unit }) => [id, unit])),
    };
  }
}

const distinct = (texts: readonly (string | null)[]): string[] => [
  ...new Set(texts.flatMap((text) => text || [])),
];

/** What `data` was asked for. */
export interface Asked {
  indicators: readonly string[];
  question: DataQuestion;
}

/** Rows of one answer. Missing figures are null. */
export class Table<Row, Meta = unknown> extends Sourced implements Iterable<Row> {
  readonly rows: readonly Row[];
  /** What the service says about the answer. */
  readonly meta: Meta;
  /** Null where `data` was not asked. */
  readonly asked: Asked | null;

  constructor(rows: readonly Row[], meta: Meta, provenance: Provenance, asked: Asked | null = null) {
    super(provenance);
    this.rows = rows;
    this.meta = meta;
    this.asked = asked;
  }

  /** Codes asked for that no country has. */
  get unmatched(): readonly string[] {
    return this.provenance.unmatched;
  }

  get length(): number {
    return this.rows.length;
  }

  [Symbol.iterator](): Iterator<Row> {
    return this.rows[Symbol.iterator]();
  }

  /** For `JSON.stringify`: the rows, and what has to travel with them. */
  toJSON(): Attributes & { rows: readonly Row[] } {
    return { ...this.attrs, rows: this.rows };
  }
}
