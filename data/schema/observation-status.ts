/**
 * What a source says of a figure, in words: `status` of the lake and of snapshots. Null is a normal value, or a source
 * that says nothing.
 *
 * The words are a closed list with the codes of the SDMX code list CL_OBS_STATUS 2.3 and those that agencies add to it
 * (Eurostat, UNICEF). Several are joined by a comma: `break, provisional`. What is not in the list is kept as the source
 * writes it, in lower case, so that nothing is lost.
 */

/** Codes and usual labels by word, in upper case. */
const STATUSES = {
  break: ['B', 'TIME SERIES BREAK', 'BREAK IN TIME SERIES'],
  'definition differs': ['D'],
  estimated: ['E', 'ESTIMATE', 'ESTIMATED VALUE'],
  forecast: ['F', 'FORECAST VALUE'],
  experimental: ['G', 'EXPERIMENTAL VALUE'],
  imputed: ['I', 'IMPUTED VALUE'],
  derogation: ['J'],
  'included elsewhere': ['K', 'DATA INCLUDED IN ANOTHER CATEGORY'],
  'not collected': ['L'],
  missing: ['H', 'M', 'O', 'MISSING VALUE'],
  'not significant': ['N'],
  provisional: ['P', 'PROVISIONAL VALUE', 'PRELIMINARY'],
  suppressed: ['Q'],
  revised: ['R'],
  'special event': ['S', 'STRIKE AND OTHER SPECIAL EVENTS'],
  'low reliability': ['U'],
  unvalidated: ['V', 'UNVALIDATED VALUE'],
  'includes another category': ['W', 'INCLUDES DATA FROM ANOTHER CATEGORY'],
  'not applicable': ['Z', '_Z'],
  adjusted: ['AD'],
  'external reanalysis': ['ER'],
  'less than': ['LT'],
  modelled: ['MD', 'MODELED'],
  partial: ['PA'],
  projection: ['PR', 'PROJECTED'],
  reanalysed: ['RA', 'REANALYZED'],
  reported: ['RP'],
  excluded: ['EXCL'],
  predicted: ['PRED'],
} as const satisfies Record<string, readonly string[]>;
type StatusWord = keyof typeof STATUSES;

/** The closed list. */
export const STATUS_WORDS = Object.keys(STATUSES) as StatusWord[];
/** A figure with one of these is a projection. */
const FORECASTS: ReadonlySet<string> = new Set<StatusWord>(['forecast', 'projection', 'predicted']);
/** Codes and labels of a normal value, or of an unknown status. */
const NORMAL = ['A', 'NORMAL', 'NORMAL VALUE', '_U'];

const WORD_OF: ReadonlyMap<string, StatusWord | null> = new Map<string, StatusWord | null>([
  ...NORMAL.map((text) => [text, null] as const),
  ...STATUS_WORDS.flatMap((word) =>
    [word.toUpperCase(), ...STATUSES[word]].map((text) => [text, word] as const),
  ),
]);
/** Codes that agencies combine without a separator, such as `bep`; at most three. */
const COMBINED = /^[BDEFGIJKNPRSUVW]{2,3}$/;
const SEPARATOR = /\s*[,;|+]\s*/;

/** The codes or labels of a combination, in upper case. */
export function splitStatus(text: string): string[] {
  const known = text.toUpperCase();
  if (WORD_OF.has(known)) return [known];
  return COMBINED.test(known) ? [...known] : known.split(SEPARATOR);
}

/** The status in words; a word stays as it is. */
export function describeStatus(text: string | null | undefined): string | null {
  const given = text?.replaceAll(/\s+/g, ' ').trim() ?? '';
  if (given === '') return null;
  const words = splitStatus(given).map((part) => WORD_OF.get(part));
  if (words.includes(undefined)) return given.toLowerCase();
  return [...new Set(words.filter((word) => !!word))].join(', ') || null;
}

/** Whether a status, or one of several, marks a projection. */
export const isForecastStatus = (status: string | null): boolean =>
  status?.split(', ').some((word) => FORECASTS.has(word)) ?? false;
