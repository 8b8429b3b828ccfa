/** GET /revisions: every change of a figure of one indicator. */
import { z } from 'zod';
import { indicatorId, iso3 } from '../../../../data/schema/records.ts';
import { type LogEntry, snapshotId } from '../../../../data/schema/snapshot.ts';
import { columnsOf, DEFAULT_FORMAT, LIST_FORMATS, recordTable } from '../../encoders/encoders.ts';
import type { Figure, RevisionWithUnits } from '../../snapshot/snapshot.ts';
import { count, envelope, named } from '../envelope.ts';
import {
  creditOfOne,
  defineOperation,
  encoderOf,
  indicatorNotFound,
  type Planned,
  refused,
  tablePlan,
  underAlias,
  withUnmatched,
} from '../operation.ts';
import { positionOf, since } from '../parameters/as-of.ts';
import { checkYears, oneOf, yearFilter } from '../parameters/parameters.ts';
import { countriesEcho, countryCodes, selection, yearsEcho } from '../parameters/places.ts';

const number = z.number().nullable();
const word = z.string().nullable();
const flag = z.boolean().nullable();

const revisionRow = z.object({
  iso3,
  year: z.int(),
  kind: z
    .enum(['added', 'changed', 'withdrawn', 'restored'])
    .describe('`restored`: an earlier snapshot had withdrawn the figure'),
  old_value: number.describe('Null where there was no figure'),
  new_value: number.describe('Null where there is no figure any more'),
  old_ci_lo: number,
  new_ci_lo: number,
  old_ci_hi: number,
  new_ci_hi: number,
  old_status: word,
  new_status: word,
  old_projected: flag,
  new_projected: flag,
  old_unit: word.describe('Of the old figure'),
  new_unit: word.describe('Of the new figure: another one where the indicator was redefined in between'),
  old_edition: snapshotId.describe('The last snapshot with the old figure'),
  new_edition: snapshotId.describe('The first snapshot with the new figure'),
});

const COLUMNS = columnsOf(revisionRow);
/** What is kept without `meta` says which indicator it is of. */
const FILE_COLUMNS = columnsOf(z.object({ indicator: indicatorId })).concat(COLUMNS);

export const revisions = defineOperation({
  name: 'getRevisions',
  path: '/revisions',
  tag: 'Data',
  summary: 'Changes of figures',
  description:
    'Every change of a figure of one indicator: its value, bounds, status or `projected`, from one snapshot to the next; ' +
    'ordered by country, year and snapshot. A row without a value counts as no figure. A rename of an indicator and a ' +
    'snapshot that was rolled back change nothing. Costs a credit per row, at least one.',
  needsKey: true,
  priceText: '1 credit per row, at least 1',
  query: z
    .object({
      ...selection,
      since: since().optional(),
      format: oneOf(LIST_FORMATS).optional().describe('Default `json`').meta({ default: DEFAULT_FORMAT }),
    })
    .superRefine(checkYears),
  formats: LIST_FORMATS,
  answer: envelope(z.array(revisionRow), {
    count,
    indicator: indicatorId,
    ...named,
    countries: countriesEcho,
    ...yearsEcho,
    since: z.string().optional(),
    format: z.enum(LIST_FORMATS).optional(),
  }),
  errors: ['indicator_not_found', 'export_restricted', 'edition_not_found'],
  async plan({
    snapshot,
    query: { indicator: asked, countries: places, from, to, years, since: sent, format },
  }): Promise<Planned> {
    const countries = places && countryCodes(places, snapshot);
    const { editions } = snapshot;
    const { id, alias } = snapshot.resolve(asked);
    const entry = await editions.history.newestRecord(id);
    if (entry === undefined) return indicatorNotFound(asked, snapshot);
    if (entry.record.access_tier === 'display') return refused('export_restricted');
    const after = positionOf(sent, editions);
    if (typeof after !== 'number') return after;
    const span = yearFilter({ from, to, years });
    const changes = await editions.history.revisions(id, { countries, ...span, after });
    const rows = changes.filter(({ year }) => years?.includes(year) ?? true);
    const encoder = encoderOf(format);
    const record = { ...entry.record, id };
    const meta = {
      generated_at: snapshot.generatedAt,
      count: rows.length,
      ...creditOfOne(record),
      countries,
      from,
      to,
      years,
      since: sent?.sent,
      format,
    };
    const table = recordTable(
      encoder.namesIndicator ? FILE_COLUMNS : COLUMNS,
      rows,
      { indicators: [record], meta, edition: snapshot.id, name: `${id}.revisions` },
      (row) => ({ indicator: id, ...toRow(row, editions.chain) }),
    );
    const price = Math.max(1, rows.length);
    const planned = tablePlan(table, encoder, { price, indicators: [id] });
    return withUnmatched(underAlias(planned, alias), countries, snapshot);
  },
});

const NO_FIGURE: { [Name in keyof Figure]: null } = {
  value: null,
  ci_lo: null,
  ci_hi: null,
  status: null,
  projected: null,
};

function toRow(
  { iso3: country, year, kind, old, new: now, edition, oldUnit, newUnit }: RevisionWithUnits,
  chain: readonly LogEntry[],
): z.infer<typeof revisionRow> {
  const [a, b] = [old ?? NO_FIGURE, now ?? NO_FIGURE];
  return {
    iso3: country,
    year,
    kind,
    old_value: a.value,
    new_value: b.value,
    old_ci_lo: a.ci_lo,
    new_ci_lo: b.ci_lo,
    old_ci_hi: a.ci_hi,
    new_ci_hi: b.ci_hi,
    old_status: a.status,
    new_status: b.status,
    old_projected: a.projected,
    new_projected: b.projected,
    old_unit: oldUnit,
    new_unit: newUnit,
    old_edition: chain[edition - 1]?.edition ?? '',
    new_edition: chain[edition]?.edition ?? '',
  };
}
