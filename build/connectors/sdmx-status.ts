/**
 * What the letters of an observation's status mean: the SDMX code list CL_OBS_STATUS, and Eurostat's and UNICEF's use
 * of it. Combined letters (`bp`, `BEP`) are combined words. Upstream's own code is kept where this table has none.
 */
const STATUS_WORDS: Record<string, string | null> = {
  A: null,
  B: 'break',
  D: 'definition differs',
  E: 'estimated',
  F: 'forecast',
  G: 'experimental',
  H: 'missing',
  I: 'imputed',
  J: 'derogation',
  K: 'included elsewhere',
  L: 'not collected',
  M: 'missing',
  N: 'not significant',
  O: 'missing',
  P: 'provisional',
  Q: 'suppressed',
  R: 'revised',
  S: 'special event',
  U: 'low reliability',
  V: 'unvalidated',
  W: 'includes another category',
  Z: 'not applicable',
  AD: 'adjusted',
  ER: 'external reanalysis',
  LT: 'less than',
  MD: 'modelled',
  PA: 'partial',
  PR: 'projection',
  RA: 'reanalysed',
  RP: 'reported',
  EXCL: 'excluded',
  PRED: 'predicted',
};

/** The status as words, null for a normal value. */
export function statusWords(code: string): string | null {
  const known = code.toUpperCase();
  if (known === '') return null;
  if (known in STATUS_WORDS) return STATUS_WORDS[known] ?? null;
  const letters = [...known].map((letter) => STATUS_WORDS[letter]);
  return letters.every((word) => word) ? letters.join(', ') : code;
}

/** Whether a status marks a forecast: one of the codes itself, or one of its single letters in a combination. */
export function isForecast(code: string, forecasts: ReadonlySet<string>): boolean {
  const known = code.toUpperCase();
  if (forecasts.has(known) || known in STATUS_WORDS) return forecasts.has(known);
  const letters = [...known];
  return letters.every((letter) => letter in STATUS_WORDS) && letters.some((letter) => forecasts.has(letter));
}
