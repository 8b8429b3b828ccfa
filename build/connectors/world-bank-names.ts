/**
 * What the World Bank says of a series only inside its name and its topic path: the unit, and the subject words.
 */

/** Words that a bracket holds when it says how a figure was made or whom it covers, not what it is measured in. */
const NOT_A_UNIT =
  /estimate|national|modeled|^(19|20)\d\d PPP$|^BoP$|DOD|PPG|^UN\b|cumulative|strength of legal|^(IMF|IDA|IBRD)|^SDG|^gross$|^net$|^years? of|survey year|WHO|^weak|^excluding|^including/i;
const LEADING_NOTE = /^(?:BoP|DOD|PPG|NFL|TDS|INT|AMT|UND|DIS),\s*/;

/** The top-level brackets of a name, in order: "a (b (c)) (d)" has "b (c)" and "d". */
function bracketsOf(name: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (const [at, character] of [...name].entries()) {
    if (character === '(') {
      if (depth === 0) start = at + 1;
      depth += 1;
    } else if (character === ')' && depth > 0) {
      depth -= 1;
      if (depth === 0) found.push([...name].slice(start, at).join('').trim());
    }
  }
  return found;
}

/**
 * The unit out of an indicator's name, by the World Bank's habit of bracketing it: "GDP (current US$)",
 * "Unemployment, total (% of total labor force) (modeled ILO estimate)". Null where no bracket is a unit.
 */
export function unitOfName(name: string): string | null {
  const units = bracketsOf(name).filter((text) => text !== '' && !NOT_A_UNIT.test(text));
  const unit = units.at(-1)?.replace(LEADING_NOTE, '');
  return unit || null;
}

/** "Health: Population: Structure" as the words "Health", "Population", "Structure" and the path itself. */
export function tagsOfTopic(topic: string | null): string[] {
  if (!topic) return [];
  const words = topic.split(':').map((word) => word.trim());
  return [...new Set([...words.filter((word) => word !== ''), topic.trim()])];
}
