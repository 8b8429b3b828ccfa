/**
 * Which content coding an answer is sent in, by the qualities of Accept-Encoding; at equal quality br, zstd, gzip,
 * identity. When nothing that is acceptable can be made, identity is sent: a readable answer beats a refusal.
 */
import type { Encoding } from '../snapshot/route-files.ts';

const PREFERENCE: readonly Encoding[] = ['br', 'zstd', 'gzip', 'identity'];
const ALIASES: Readonly<Record<string, string>> = { 'x-gzip': 'gzip' };

/** Clients send few distinct headers; strange ones must not grow this without bound. */
const REMEMBERED_MAX = 256;
const remembered = new Map<string, Encoding>();

export function chooseEncoding(header: string | undefined): Encoding {
  if (header === undefined) return 'identity';
  const known = remembered.get(header);
  if (known) return known;
  const chosen = choose(header);
  if (remembered.size < REMEMBERED_MAX) remembered.set(header, chosen);
  return chosen;
}

function choose(header: string): Encoding {
  const qualities = readQualities(header);
  const any = qualities.get('*');
  let best: Encoding = 'identity';
  let bestQuality = 0;
  for (const coding of PREFERENCE) {
    const quality = qualities.get(coding) ?? any ?? 0;
    if (quality > bestQuality) {
      best = coding;
      bestQuality = quality;
    }
  }
  return best;
}

function readQualities(header: string): Map<string, number> {
  const qualities = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    if (name === '') continue;
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    qualities.set(ALIASES[name] ?? name, quality >= 0 && quality <= 1 ? quality : 0);
  }
  return qualities;
}

/** Whether If-None-Match names the tag. Weak forms match: a cache on the way may have weakened ours. */
export function tagMatches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header === tag) return true;
  return header.split(',').some((candidate) => {
    const trimmed = candidate.trim();
    return trimmed === '*' || (trimmed.startsWith('W/') ? trimmed.slice(2) : trimmed) === tag;
  });
}
