/** Writes a first definition of an unknown upstream. Every guess is marked as one. */
import { stringify } from 'yaml';
import type { LostPlace } from '../../data/schema/lake.ts';
import type { SourceGuess } from './guess-source.ts';
import type { Probe } from './probe.ts';

export interface Draft {
  id: string;
  /** Where it was read. */
  location: string;
  /** The URL for `origin`, or the folder that was read instead of one. */
  base: { origin: string } | { mirror: string };
  guess: SourceGuess;
  found: Probe;
  schemes: string[];
  unknown: string[];
  lost: readonly LostPlace[];
  currentYear: number;
}

const SHOWN = 20;
const listed = (items: readonly string[]): string =>
  items.slice(0, SHOWN).join(', ') + (items.length > SHOWN ? ` and ${items.length - SHOWN} more` : '');

const yaml = (value: Record<string, unknown>): string =>
  stringify(value, { lineWidth: 0, flowCollectionPadding: true });
const comment = (text: string): string => `# ${text.replaceAll(/\s*\n\s*/g, ' ')}\n`;

/** The text of `data/providers/<id>.yaml`. */
export function draftDefinition(draft: Draft): string {
  const { id, base, guess, found, schemes, currentYear } = draft;
  const isUrl = 'origin' in base;
  const [licence] = found.licences;
  const last = found.years?.[1] ?? currentYear;
  return [
    ...findings(draft).map(comment),
    '\n',
    yaml({ id, name: id }),
    comment(
      'Unpublished until both are set: `enabled`, and `redistributable` once the licence is known to allow it.',
    ),
    yaml({ enabled: false, redistributable: false, access_tier: 'display' }),
    licence === undefined
      ? comment('Look the licence up.')
      : comment('Guess: the licence that upstream states.'),
    yaml({ licence: licence ?? 'unknown', licence_url: null }),
    comment('Guess: the credit line. Take the wording that the licence asks for.'),
    yaml({ attribution: found.sources.values().next().value ?? id }),
    isUrl
      ? ''
      : comment('The URL of the upstream. It was read from the folder `mirror` below PROVIDER_MIRROR.'),
    yaml(isUrl ? base : { origin: `https://${id}.example/`, ...base }),
    comment(`Guess: ${guess.reason}.`),
    yaml({
      connector: guess.connector,
      ...(Object.keys(guess.source).length > 0 ? { source: guess.source } : {}),
    }),
    comment('Guess: the schemes that know the places.'),
    yaml({ places: schemes }),
    last > currentYear
      ? comment(`Guess: rows reach ${last}; the first year that is a forecast.`) +
        yaml({ projected_from: currentYear + 1 })
      : '',
    comment('Guess: the topic of series without one.'),
    yaml({ default_topic: 'economy' }),
  ].join('');
}

/** What was found, as sentences: the head of the file, and what the command prints. */
export function findings({ location, found, unknown, lost }: Draft): string[] {
  const { problem, series, failed, rows, years } = found;
  if (problem !== null) return [`Read from ${location}. It could not be read with these guesses: ${problem}`];
  const span = years ? `, ${years[0]} to ${years[1]}` : '';
  return [
    `Read from ${location}: ${rows} rows of ${series.length} series, ${found.places.size} places${span}.`,
    `Series: ${listed(series.map(({ slug, unit }) => (unit ? `${slug} [${unit}]` : slug)))}.`,
    ...(failed.length > 0
      ? [`Failed: ${listed(failed.map(({ slug, reason }) => `${slug}: ${reason}`))}.`]
      : []),
    ...(unknown.length > 0 ? [`Unknown places, to be listed in data/places.csv: ${listed(unknown)}.`] : []),
    ...(lost.length > 0
      ? [`Countries among them: ${listed(lost.map(({ place, name }) => `"${place}" (${name}?)`))}.`]
      : []),
  ];
}
