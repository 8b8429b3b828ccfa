/** Findings of `npm run faults` and their Markdown table. */

/** Called by a part once for every promise it has tested. `figure` says what was measured. */
export type Reporter = (promise: string, figure: string, ok: boolean) => void;

export interface Finding {
  part: string;
  fault: string;
  promise: string;
  figure: string;
  kept: boolean;
}

export interface FaultsReport {
  at: string;
  machine: Record<string, string | number>;
  duration_s: number;
  findings: Finding[];
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');

/** One row for each promise. The first row of a part describes the fault. */
export function markdown({ machine, duration_s, findings }: FaultsReport): string {
  const line = (words: string[]): string => `| ${words.map(cell).join(' | ')} |`;
  const broken = findings.filter(({ kept }) => !kept).length;
  return [
    Object.entries(machine)
      .map(([name, value]) => `${name}: ${value}`)
      .join(' · '),
    '',
    line(['promise', 'what was done', 'figure', 'kept']),
    line(['---', '---', '---', '---']),
    ...findings.map(({ part, fault, promise, figure, kept }, index) => {
      const isFirst = findings[index - 1]?.part !== part;
      return line([promise, isFirst ? `${part}: ${fault}` : '″', figure, kept ? 'yes' : '**no**']);
    }),
    '',
    `${findings.length} promises, ${broken} broken, in ${Math.round(duration_s)} s.`,
  ].join('\n');
}
