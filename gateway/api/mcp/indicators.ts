/** The indicators that a tool was asked for, by their ids. */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { truncateInput } from '../core/errors.ts';
import { findSeries } from '../operations/operations.ts';
import type { Edition } from '../snapshot/snapshot.ts';
import { NO_ESTIMATE, type Refusal } from './answer.ts';

const SIMILAR_MAX = 3;

/** The indicators that a tool was asked for: those that the edition has, and refusals for the others. */
interface AskedIndicators {
  records: IndicatorRecord[];
  refusals: Refusal[];
}

/** By the ids of today: a former id means what became of it. */
export async function findIndicators(ids: readonly string[], edition: Edition): Promise<AskedIndicators> {
  const records = new Map<string, IndicatorRecord>();
  const refusals: Refusal[] = [];
  for (const asked of ids) {
    const { id } = edition.resolve(asked.trim());
    const entry = await edition.indicator(id);
    if (entry) records.set(entry.record.id, entry.record);
    else refusals.push(await notHeld(asked, edition));
  }
  return { records: [...records.values()], refusals };
}

async function notHeld(asked: string, edition: Edition): Promise<Refusal> {
  const sent = truncateInput(asked);
  const { hits } = await findSeries(edition, asked, { limit: SIMILAR_MAX });
  const similar_indicators = hits.map(({ record }) => record.id);
  const message =
    `Almanac has no indicator with the id “${sent}”: ids come from find_indicators and are never made up. ` +
    NO_ESTIMATE;
  return { reason: 'not_held', message, indicator: sent, similar_indicators };
}
