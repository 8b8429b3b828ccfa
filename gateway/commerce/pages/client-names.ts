/**
 * Whether the name of a client looks like that of another. A client chooses its name itself; only the host of its id, or of
 * the address that it is answered at, is proved.
 */

export interface NamedClient {
  name: string;
  /** Proved. */
  host: string;
}

/** Without a host where nothing is proved, as for programs on the person's computer. */
export type AskingClient = Omit<NamedClient, 'host'> & { host: string | null };

/** Names that people know, and the domains whose clients may have them, the usual one first. */
const KNOWN_NAMES: readonly (readonly [name: string, domain: string, ...others: string[]])[] = [
  ['Claude', 'claude.ai', 'claude.com', 'anthropic.com'],
  ['Anthropic', 'claude.ai', 'claude.com', 'anthropic.com'],
  ['ChatGPT', 'chatgpt.com', 'openai.com'],
  ['OpenAI', 'chatgpt.com', 'openai.com'],
  ['Gemini', 'google.com'],
  ['Google', 'google.com'],
  ['Copilot', 'microsoft.com', 'github.com'],
  ['Microsoft', 'microsoft.com'],
  ['Visual Studio Code', 'vscode.dev', 'visualstudio.com', 'microsoft.com'],
  ['GitHub', 'github.com'],
  ['Cursor', 'cursor.com', 'cursor.sh'],
  ['Perplexity', 'perplexity.ai'],
  ['Mistral', 'mistral.ai'],
];

/** Letters that look like a Latin one in some fonts, each before it, after Unicode's own decomposition. */
const LOOKALIKES = new Map(
  (
    'аa вb сc ԁd еe һh іl јj кk мm нh оo рp ԛq ѕs тt уy ѵv ԝw хx з3 гr пn ӏl ' +
    'αa βb εe ηn ιl κk νv οo ρp τt υu χx ϲc օo սu հh ոn ɑa ɡg ıl ſs øo łl đd ' +
    '0o 1l 3e 4a 5s 7t |l !l $s @a il'
  )
    .split(' ')
    .map(([letter = '', latin = '']): [string, string] => [letter, latin]),
);

/** What is left of a name for an eye that reads in passing: equal for names that look alike. */
function looksOf(name: string): string {
  const letters = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const latin = Array.from(letters, (letter) => LOOKALIKES.get(letter) ?? letter).join('');
  return latin
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');
}

const isBelow = (host: string | null, domain: string): boolean =>
  host === domain || (host?.endsWith(`.${domain}`) ?? false);

/**
 * Whose name a client seems to bear: of a known host, of this service, or of another connected client.
 * @param own host of this service
 * @returns name and host of the other; null where the name is its own
 */
export function findImitated(
  { name, host }: AskingClient,
  { own, connected }: { own: string; connected: readonly NamedClient[] },
): NamedClient | null {
  const looks = looksOf(name);
  for (const [known, domain, ...others] of [...KNOWN_NAMES, ['Almanac', own] as const])
    if (looks.includes(looksOf(known)) && ![domain, ...others].some((one) => isBelow(host, one)))
      return { name: known, host: domain };
  return connected.find((other) => other.host !== host && looksOf(other.name) === looks) ?? null;
}
