/** What a call answers: rows, with everything that belongs to them. */
import { type Cells, escapeHtml, htmlTable, textTable } from './display.ts';
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

const SHOWN_ROWS = 10;
const SHOWN_SERIES = 5;

/** Rows of one answer, which show as a table. Missing figures are null. */
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

  /** A row by its position; from the end where that is negative. */
  at(position: number): Row | undefined {
    return this.rows.at(position);
  }

  /** The first rows as a table, with unit, price, edition and citation. */
  override toString(): string {
    const { columns, rows, heading, footing } = this.#shown();
    return [...heading, textTable(columns, rows), ...footing].join('\n');
  }

  /** The same in HTML. */
  toHTML(): string {
    const { columns, rows, heading, footing } = this.#shown();
    return `${htmlTable(columns, rows, heading)}<p>${footing.map(escapeHtml).join('<br>')}</p>`;
  }

  /** For `console.log` in Node.js. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  #shown(): Record<'columns' | 'heading' | 'footing', string[]> & { rows: readonly Cells[] } {
    const { edition, price, unmatched, length } = this;
    const { series } = this.provenance;
    const rows = this.rows.slice(0, SHOWN_ROWS) as readonly Cells[];
    const named = ({ id, name, unit }: Series): string =>
      [id, [name, unit].filter((part) => part).join(', ')].filter((part) => part !== '').join(': ');
    // Without what is empty, or names the one indicator of the heading in every row.
    const columns = Object.keys(rows[0] ?? {}).filter(
      (name) => (series.length !== 1 || name !== 'indicator') && rows.some((row) => row[name] !== null),
    );
    const cost = price === null ? '' : `, ${price} credits`;
    return {
      columns,
      rows,
      heading: series.slice(0, SHOWN_SERIES).map(named),
      footing: [
        ...(length > SHOWN_ROWS ? [`… ${length - SHOWN_ROWS} more rows`] : []),
        `${length} rows, snapshot ${edition}${cost}`,
        ...this.citation.split('\n').slice(0, SHOWN_SERIES),
        ...(unmatched.length > 0 ? [`no country has the code ${unmatched.join(', ')}`] : []),
      ],
    };
  }

  [Symbol.iterator](): Iterator<Row> {
    return this.rows[Symbol.iterator]();
  }

  /** For `JSON.stringify`: the rows, and what has to travel with them. */
  toJSON(): Attributes & { rows: readonly Row[] } {
    return { ...this.attrs, rows: this.rows };
  }
}
