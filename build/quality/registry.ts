/** The quality checks. A further family of kinds is a file in `checks/` and a line here. */
import type { QualityCheck } from './check.ts';
import { runs } from './checks/runs.ts';
import { shares } from './checks/shares.ts';

export const QUALITY_CHECKS: readonly QualityCheck[] = [runs, shares];
