/** What readers must know before they compare figures: doubts, projections, and other series of the same statistic. */

import type { PublicFinding } from '../../../data/schema/quality.ts';
import type { IndicatorRecord, IndicatorSource, IndicatorTwin } from '../../../data/schema/records.ts';
import type { CatalogueEntry } from '../../api/snapshot/editions/catalogue.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';
import { yearsText } from '../figures.ts';

/** Of each list, on a page. */
const SHOWN_MAX = 10;

interface ShownTwin extends IndicatorTwin {
  /** Name of the country with the largest difference; null where none is told. */
  largestIn: string | null;
}

export interface Comparability {
  sources: readonly IndicatorSource[];
  findings: readonly PublicFinding[];
  twins: readonly ShownTwin[];
  /** Sentences. */
  notes: readonly string[];
}

/** @throws {SnapshotUnreadable} */
export async function comparabilityOf(edition: Edition, entry: CatalogueEntry): Promise<Comparability> {
  const { id } = entry.record;
  const lists = await edition.additions(['sources', 'quality', 'twins'], [id]);
  const twins: IndicatorTwin[] = JSON.parse(lists.json('twins', id));
  const findings: PublicFinding[] = JSON.parse(lists.json('quality', id));
  const nameOf = (iso3: string | undefined): string | null =>
    (iso3 !== undefined && edition.countriesByCode.get(iso3)?.name) || null;
  return {
    sources: JSON.parse(lists.json('sources', id)),
    findings: findings.slice(0, SHOWN_MAX),
    twins: twins
      .slice(0, SHOWN_MAX)
      .map((twin) => ({ ...twin, largestIn: nameOf(twin.difference?.largest.iso3) })),
    notes: notesOf(entry),
  };
}

function notesOf({ record, hasProjections }: CatalogueEntry): string[] {
  const { coverage } = record;
  const notes = [rankNote(record)];
  if (hasProjections && coverage !== null && coverage.latest_year !== null)
    notes.push(
      `Years after ${coverage.latest_year} are projections of the source: they are marked, drawn dashed, and not ranked.`,
    );
  if (coverage !== null && coverage.latest_year === null && coverage.yr_min !== null)
    notes.push(`All figures are projections of the source: ${yearsText(coverage.yr_min, coverage.yr_max)}.`);
  notes.push(
    'Countries measure in different years, and some years are missing: a country without a figure in a year is not ranked in it.',
  );
  return notes;
}

function rankNote({ no_rank, higher_is_better }: IndicatorRecord): string {
  if (no_rank) return 'Countries are not ranked: the values are codes, or ranks would mislead.';
  return higher_is_better === false
    ? 'Rank 1 is the lowest value: lower is better. Equal values share a rank.'
    : `Rank 1 is the highest value${higher_is_better === null ? ', which does not mean the best' : ': higher is better'}. Equal values share a rank.`;
}
