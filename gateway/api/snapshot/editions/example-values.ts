/** Values for examples that work: an indicator of the snapshot, and countries and years that it has. */

import type { CountryRecord, IndicatorRecord } from '../../../../data/schema/records.ts';
import { DRAWN_COUNTRIES, type LogEntry, WELL_KNOWN } from '../../../../data/schema/snapshot.ts';
import type { Observations } from '../rows/observations.ts';
import type { Catalogue } from './catalogue.ts';
import type { Snapshot } from './snapshot.ts';

const YEARS = 5;

/** What the catalogue alone gives. */
export interface ExampleSeries {
  indicator: IndicatorRecord;
  /** Years that end with the latest one. */
  from: number;
  to: number;
}

/** With figures. */
export interface ExampleFigures extends ExampleSeries {
  /** One to three countries with a value in the latest year. */
  countries: CountryRecord[];
  /** The value of the first country in the latest year. */
  value: number;
}

export interface ExampleValues extends ExampleFigures {
  /** The id of an open indicator that was revised lately, if there is one. */
  revised: string;
}

/** Null when the snapshot has no open indicator that is ranked. */
export async function exampleValues(snapshot: Snapshot): Promise<ExampleValues | null> {
  const figures = await exampleFigures(snapshot);
  return figures && { ...figures, revised: (await revisedIndicator(snapshot)) ?? figures.indicator.id };
}

/** Null when the edition has no open indicator that is ranked. */
export async function exampleFigures(edition: {
  catalogue: Catalogue;
  observations: Observations;
}): Promise<ExampleFigures | null> {
  const series = exampleSeries(edition);
  if (series === null) return null;
  const { indicator, to } = series;
  const columns = await edition.observations.columns(indicator.id, { from: to, to });
  const latestOf = (country: string): number =>
    columns.columns.value[columns.rowOf(country, to)] ?? Number.NaN;
  const observed = columns.countries.filter((country) => !Number.isNaN(latestOf(country)));
  const countries = wellKnownFirst(observed).flatMap((code) => {
    const record = edition.catalogue.countriesByCode.get(code);
    return record ? [record] : [];
  });
  const [first] = countries;
  if (!first) return null;
  return { ...series, countries, value: latestOf(first.iso3) };
}

/** Reads no file. Null when the snapshot has no open indicator that is ranked. */
export function exampleSeries(edition: { catalogue: Catalogue }): ExampleSeries | null {
  const indicator = exampleIndicator(edition);
  const to = indicator?.coverage?.latest_year;
  if (!indicator || to === null || to === undefined) return null;
  return { indicator, from: to - YEARS + 1, to };
}

/** Up to three of some country codes. */
export function wellKnownFirst(codes: readonly string[]): string[] {
  const all = new Set([...WELL_KNOWN.filter((code) => codes.includes(code)), ...codes]);
  return [...all].slice(0, DRAWN_COUNTRIES);
}

async function revisedIndicator({ catalogue, editions }: Snapshot): Promise<string | undefined> {
  const isOpen = (id: string) => catalogue.indicators.get(id)?.record.access_tier === 'open';
  const hasRevised = ({ changed }: LogEntry) => Object.values(changed).some(({ revised }) => revised > 0);
  const entry = editions.chain.findLast(hasRevised);
  return entry && Object.keys((await editions.history.changes(entry)).revised).find(isOpen);
}

/** The open indicator with the widest coverage, featured ones first. */
function exampleIndicator({ catalogue }: { catalogue: Catalogue }): IndicatorRecord | undefined {
  const open = catalogue
    .ordered('coverage', 'desc')
    .map(({ record }) => record)
    .filter((record) => !record.no_rank && record.access_tier === 'open' && record.coverage);
  return open.find((record) => record.featured) ?? open[0];
}
