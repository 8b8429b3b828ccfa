/** The quality checks. A further family of kinds is a file in `checks/` and a line here. */
import type { QualityCheck } from './check.ts';
import { concepts } from './checks/concepts.ts';
import { labelChanges } from './checks/label-changes.ts';
import { labelFigures } from './checks/label-figures.ts';
import { labelWords } from './checks/label-words.ts';
import { priceBasis } from './checks/price-basis.ts';
import { runs } from './checks/runs.ts';
import { sameFigures } from './checks/same-figures.ts';
import { shares } from './checks/shares.ts';
import { twins } from './checks/twins.ts';

export const QUALITY_CHECKS: readonly QualityCheck[] = [
  concepts,
  labelChanges,
  labelFigures,
  labelWords,
  priceBasis,
  runs,
  sameFigures,
  shares,
  twins,
];
