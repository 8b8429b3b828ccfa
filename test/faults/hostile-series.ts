/** A provider whose figures reach from 5e-324 to 1.8e308: all that it and others publish must be in each night's snapshot. */
import { hostileNights, isExtreme } from '../build/hostile-series.ts';
import type { Reporter } from './table.ts';

export interface HostileScale {
  seeds: readonly number[];
  /** By seed. */
  nights: number;
}

const FULL: HostileScale = { seeds: [1, 2, 3, 4, 5], nights: 2 };

export async function hostileSeriesFaults(
  report: Reporter,
  { seeds, nights }: HostileScale = FULL,
): Promise<void> {
  const seen = { series: 0, figures: 0, wrong: 0, extreme: 0, unnamed: 0, errors: 0 };
  for (const seed of seeds) {
    const built = await hostileNights(seed, nights);
    try {
      const findings = await built.findings();
      for (const [slug, { cells }] of Object.entries(built.series)) {
        const id = `hostile.${slug}`;
        const published = await built.world.observations(id);
        seen.series += 1;
        seen.figures += cells.length;
        seen.wrong += cells.filter(([, , value], at) => published[at]?.value !== Number(value) + 0).length;
        if (!cells.some(([, , value]) => isExtreme(Number(value)))) continue;
        seen.extreme += 1;
        const isNamed = findings.some((one) => one.kind === 'figures_not_checked' && one.indicator === id);
        if (!isNamed) seen.unnamed += 1;
      }
      seen.errors += built.errors.length;
    } finally {
      await built.world.remove();
    }
  }
  report(
    'No series fails a build, whatever its figures: each is published as its source has it',
    `${seeds.length * nights} nights; in the last of each ${nights}, ${seen.series} series and ${seen.figures.toLocaleString('en')} figures, ${seen.wrong} of them otherwise`,
    seen.wrong === 0,
  );
  report(
    'A series that cannot be computed with is a finding, and fails no check of others',
    `${seen.extreme} series, ${seen.unnamed} without a finding; ${seen.errors} checks failed`,
    seen.unnamed === 0 && seen.errors === 0 && seen.extreme > 0,
  );
}
