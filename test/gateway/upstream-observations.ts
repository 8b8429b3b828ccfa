/**
 * Reads Gapminder's files without any code of the build, to compare published responses with their source.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Observation {
  iso3: string;
  year: number;
  value: number;
}

interface Table {
  header: string[];
  rows: string[][];
}

/** The columns read here contain no quotes, commas or line breaks. */
function readTable(file: string): Table {
  const lines = readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .filter((line) => line !== '');
  const split = (line: string): string[] =>
    line.includes('"')
      ? [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map((match) =>
          (match[1] ?? '').replace(/^"|"$/g, ''),
        )
      : line.split(',');
  return { header: split(lines[0] ?? ''), rows: lines.slice(1).map(split) };
}

/** Maps upstream place codes to countries, by ISO code or by the curated table of places. */
export function readPlaces(mirror: string, placesFile: string): Map<string, string> {
  const places = new Map<string, string>();
  const entities = readTable(join(mirror, 'gapminder', 'ddf--entities--geo--country.csv'));
  const code = entities.header.indexOf('country');
  const iso3 = entities.header.indexOf('iso3166_1_alpha3');
  for (const row of entities.rows) {
    if (/^[A-Z]{3}$/.test(row[iso3] ?? '')) places.set(row[code] ?? '', row[iso3] ?? '');
  }
  for (const [scheme, place = '', country = ''] of readTable(placesFile).rows) {
    if (scheme !== 'gapminder') continue;
    if (/^[A-Z]{3}$/.test(country)) places.set(place, country);
    else places.delete(place);
  }
  return places;
}

/** All series by country and year. */
export function listSeries(mirror: string): { slug: string; file: string }[] {
  const directory = join(mirror, 'gapminder');
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return names
    .map((name) => ({
      file: join(directory, name),
      match: /ddf--datapoints--(.+)--by--([a-z_-]+)\.csv$/.exec(name),
    }))
    .filter(({ match }) => match !== null && match[2]?.split('--').toSorted().join() === 'geo,time')
    .map(({ file, match }) => ({ file, slug: match?.[1] ?? '' }))
    .toSorted((a, b) => (a.slug < b.slug ? -1 : 1));
}

/** All observations of a file for the served countries, ordered by country and year. */
export function readObservations(
  file: string,
  slug: string,
  places: Map<string, string>,
  served: Set<string>,
): Observation[] {
  const { header, rows } = readTable(file);
  const [geo, time, value] = ['geo', 'time', slug].map((name) => header.indexOf(name));
  const figures: Observation[] = [];
  for (const row of rows) {
    const iso3 = places.get(row[geo ?? -1] ?? '');
    if (iso3 === undefined || !served.has(iso3)) continue;
    figures.push({ iso3, year: Number(row[time ?? -1]), value: Number(row[value ?? -1]) });
  }
  return figures.sort((a, b) => (a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1));
}

/** Competition ranks of each year: one plus the number of strictly better values. */
export function rankObservations(figures: Observation[], lowerIsBetter: boolean): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const ofYear of Map.groupBy(figures, ({ year }) => year).values()) {
    const sorted = ofYear.map(({ value }) => value).sort((a, b) => (lowerIsBetter ? a - b : b - a));
    const first = new Map<number, number>();
    for (const [at, value] of sorted.entries()) if (!first.has(value)) first.set(value, at + 1);
    for (const { iso3, year, value } of ofYear) ranks.set(`${iso3} ${year}`, first.get(value) ?? 0);
  }
  return ranks;
}
