/**
 * What the World Bank says of a series only inside its name and its topic path: the unit, and the subject words.
 */

/** Brackets that say how a figure was made, whom it covers or what a word stands for, not what it is measured in. */
const NOT_A_UNIT =
  /\bestimate\)?$|^\d{4} PPP$|^(BoP|PNG|PPG|GDP|GPI|ATMs|R&D|higher|gross|net|Overall average)$|^population ages [\d-]+$/i;
/** What stands before the unit in the same bracket: "BoP, current US$", "modeled estimate, per 100,000 live births". */
const LEADING_NOTE =
  /^(?:BoP|DOD|NFL|TDS|INT|AMT|UND|DIS|COM|includes gold|(?:modeled|national) estimate),\s*/i;

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
  return units.at(-1)?.replace(LEADING_NOTE, '') || null;
}

/** "Health: Population: Structure" as the words "Health", "Population", "Structure" and the path itself. */
export function tagsOfTopic(topic: string | null): string[] {
  if (!topic) return [];
  const words = topic.split(':').map((word) => word.trim());
  return [...new Set([...words.filter((word) => word !== ''), topic.trim()])];
}
