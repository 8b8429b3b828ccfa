/** The quality checks. A further family of kinds is a file in `checks/` and a line here. */
import type { QualityCheck } from './check.ts';
import { concepts } from './checks/concepts.ts';
import { countries } from './checks/countries.ts';
import { coverage } from './checks/coverage.ts';
import { duplicates } from './checks/duplicates.ts';
import { histories } from './checks/histories.ts';
import { labelChanges } from './checks/label-changes.ts';
import { labelFigures } from './checks/label-figures.ts';
import { labelWords } from './checks/label-words.ts';
import { priceBasis } from './checks/price-basis.ts';
import { ranges } from './checks/ranges.ts';
import { ratesOfTotals } from './checks/rates-of-totals.ts';
import { renames } from './checks/renames.ts';
import { runs } from './checks/runs.ts';
import { sameFigures } from './checks/same-figures.ts';
import { sinceYesterday } from './checks/since-yesterday.ts';
import { twinFigures } from './checks/twin-figures.ts';
import { twins } from './checks/twins.ts';

export const QUALITY_CHECKS: readonly QualityCheck[] = [
  concepts,
  countries,
  coverage,
  duplicates,
  histories,
  labelChanges,
  labelFigures,
  labelWords,
  priceBasis,
  ranges,
  ratesOfTotals,
  renames,
  runs,
  sameFigures,
  sinceYesterday,
  twinFigures,
  twins,
];
