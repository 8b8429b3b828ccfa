/** From an answer of the service to a table. */
import { type Asked, type Provenance, type Series, Table } from './table.ts';
import type { Answer } from './transport.ts';

/** The form of every answer in JSON. */
export interface Document<Data, Meta> {
  data: Data;
  meta: Meta;
}

/** What `meta` says of one indicator or of several. */
interface DescribedMeta extends Derived {
  generated_at: string;
  indicator?: string;
  indicators?: readonly (SeriesRecord & Derived)[];
  /** Whose figures weigh the members of groups. */
  weights?: readonly SeriesRecord[];
}

interface Derived {
  /** Of derived figures: whose they are made of. */
  derivation?: { inputs: readonly SeriesRecord[] };
}

/** An indicator as `meta` and the catalogue describe it. */
export interface SeriesRecord {
  id: string;
  name?: string;
  unit?: string | null;
  licence?: string;
  licence_url?: string | null;
  attribution?: string;
}

export function provenanceOf(
  headers: Headers,
  generatedAt: string | null,
  series: readonly Series[],
): Provenance {
  const count = (name: string): number | null => {
    const value = headers.get(name);
    return value === null ? null : Number(value);
  };
  const isRepeat = headers.get('Idempotent-Replayed') === 'true';
  return {
    edition: headers.get('X-Snapshot'),
    generatedAt,
    price: isRepeat ? null : count('X-Credits-Charged'),
    balance: count('X-Credits-Remaining'),
    requestId: headers.get('X-Request-Id'),
    series,
    unmatched: headers.get('X-Unmatched-Countries')?.split(', ') ?? [],
  };
}

export function toSeries(record: SeriesRecord): Series {
  const { id, name = null, unit = null, licence = null, licence_url = null, attribution = null } = record;
  return { id, name, unit, licence, licence_url, attribution };
}

/** The indicators of an answer, listed where there are several, else spread over `meta`; then what they are derived from. */
function seriesOf(meta: DescribedMeta): Series[] {
  const one = meta.indicator === undefined ? [] : [{ ...meta, id: meta.indicator }];
  const own = meta.indicators ?? one;
  const inputs = own.flatMap(({ derivation }) => derivation?.inputs ?? []);
  const all = [...own, ...inputs, ...(meta.weights ?? [])];
  return all.filter(({ id }, at) => all.findIndex((other) => other.id === id) === at).map(toSeries);
}

/** Reads rows as a table. */
export async function readTable<Row, Meta extends DescribedMeta>(answer: Answer): Promise<Table<Row, Meta>> {
  const { data, meta } = await answer.json<Document<Row[], Meta>>();
  return new Table(data, meta, provenanceOf(answer.headers, meta.generated_at, seriesOf(meta)));
}

/** Reads figures. Rows of one indicator are given its id, which those of several have. */
export function readFigures<Row, Meta extends DescribedMeta>(asked: Asked) {
  return async (answer: Answer): Promise<Table<Row, Meta>> => {
    const { rows, meta, provenance } = await readTable<Row, Meta>(answer);
    const { fields, layout, names } = asked.question;
    const isChosen = names === true || (fields !== undefined && fields.length > 0);
    const isUnnamed = !isChosen && layout !== 'wide' && meta.indicator !== undefined;
    const named = isUnnamed ? rows.map((row) => ({ indicator: meta.indicator, ...row })) : rows;
    return new Table(named, meta, provenance, asked);
  };
}
