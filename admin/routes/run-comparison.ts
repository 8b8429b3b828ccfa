/** Two runs of a provider side by side. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { SNAPSHOT_SUBJECT, type StoredRun } from '../../data/schema/jobs.ts';
import { PageError, parseFields, textField } from '../../gateway/web/forms.ts';
import type { AdminArea } from '../context.ts';
import { type RunSeries, readRunSeries } from '../lake-series.ts';
import {
  compareFailures,
  compareFigures,
  compareLogs,
  compareRejects,
  compareSeries,
  type FigurePair,
  type LogDifference,
  type RejectComparison,
  type SeriesComparison,
} from '../run-comparison.ts';
import { RUNS_PATH } from './run-path.ts';
import { findRun, type RunSummary, summariseRun } from './runs.ts';

const PATH = `${RUNS_PATH}/compare`;
/** Runs that can be chosen. */
const CHOICES = 100;

const query = z.object({ subject: textField(100), before: textField(50), after: textField(50) });

/** Runs of a provider, newest first, and two that are chosen. */
export interface RunChoice {
  action: string;
  subject: string;
  runs: { run_id: string; label: string }[];
  before: string;
  after: string;
}

interface ComparisonPage {
  choice: RunChoice;
  before: RunSummary;
  after: RunSummary;
  vintages: { before: string; after: string };
  figures: FigurePair[];
  /** Null where the lake of a run is not on this machine, or removed. */
  series: SeriesComparison | null;
  failures: { mended: string[]; failed: string[] };
  rejects: RejectComparison[];
  log: LogDifference[];
}

/**
 * Which runs are chosen: by default the newest, and the one before the later. @param runs newest first
 * @returns null with fewer than two runs
 */
export function runChoice(
  subject: string,
  runs: readonly StoredRun[],
  chosen = { before: '', after: '' },
): RunChoice | null {
  const ids = runs.map(({ run_id }) => run_id);
  const [newest = ''] = ids;
  const after = chosen.after || newest;
  const at = ids.indexOf(after);
  const neighbour = ids[at + 1] ?? ids[at - 1];
  if (neighbour === undefined) return null;
  return {
    ...{ action: PATH, subject, after, before: chosen.before || neighbour },
    runs: runs.map(({ run_id, status, started_at }) => ({
      run_id,
      label: `${started_at.slice(0, 16).replace('T', ' ')}, ${status}`,
    })),
  };
}

export function runComparisonRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view<ComparisonPage>('run-comparison.njk');

  /** A run that found upstream unchanged wrote nothing: its series are those of the good run before it. */
  async function seriesOf(run: StoredRun, all: readonly StoredRun[]): Promise<RunSeries | null> {
    const wrote =
      run.status === 'unchanged'
        ? all.find(({ status, started_at }) => status === 'succeeded' && started_at < run.started_at)
        : run;
    return wrote ? readRunSeries(area.lakeDir, { provider: run.subject, run_id: wrote.run_id }) : null;
  }

  scope.get('/runs/compare', async (request, reply) => {
    const { subject, ...chosen } = parseFields(query, request.query);
    if (subject === SNAPSHOT_SUBJECT || !(await area.providers()).has(subject))
      throw new PageError(404, `There is no provider ${subject}.`);
    const { runs: all } = await area.runs.list({ subject, limit: CHOICES });
    const choice = runChoice(subject, all, chosen);
    if (choice === null) throw new PageError(404, `${subject} has fewer than two runs.`);
    if (choice.before === choice.after) throw new PageError(422, 'Choose two different runs.');
    const two = await Promise.all([choice.before, choice.after].map((id) => findRun(area.runs, subject, id)));
    const [before, after] = two.toSorted((a, b) => (a.started_at < b.started_at ? -1 : 1));
    if (!before || !after) throw new PageError(404, `${subject} has fewer than two runs.`);
    const [old, recent] = await Promise.all([seriesOf(before, all), seriesOf(after, all)]);
    return view(reply, `Runs of ${subject} compared`, {
      choice: { ...choice, before: before.run_id, after: after.run_id },
      before: summariseRun(before, area.now()),
      after: summariseRun(after, area.now()),
      vintages: { before: before.record?.vintage ?? '–', after: after.record?.vintage ?? '–' },
      figures: compareFigures(before, after),
      series: old && recent && compareSeries(old, recent),
      failures: compareFailures(before, after),
      rejects: compareRejects(before, after),
      log: compareLogs(
        await area.runs.log(subject, before.run_id),
        await area.runs.log(subject, after.run_id),
      ),
    });
  });
}
