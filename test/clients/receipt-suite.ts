/** What the verifiers of all clients hold. */
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { forgeries, sound } from '../data/proofs/forgeries.ts';
import type { Evidence } from '../data/proofs/tampering.ts';
import { evidenceOfGrowth, GENUINE, GROWN } from '../data/proofs/vectors.ts';
import { forgedFrom, provedReceipts, publishProvable } from '../gateway/provable-world.ts';
import { Service } from '../gateway/service.ts';

/** For each what a verifier says: `accepted`, or `refused`, and why. */
export type Verify = (all: readonly Evidence[]) => Promise<string[]>;

/** Has a program read evidence from a file in the directory. @returns the lines that it prints */
export async function verdictsOn(
  directory: string,
  all: readonly Evidence[],
  program: (file: string) => Promise<string>,
): Promise<string[]> {
  const inBase64 = all.map((evidence) =>
    Object.fromEntries(
      Object.entries(evidence).map(([name, file]) => [name, Buffer.from(file).toString('base64')]),
    ),
  );
  const file = join(directory, 'evidence.json');
  await writeFile(file, JSON.stringify(inBase64));
  return (await program(file)).trimEnd().split('\n');
}

const verdict = (outcome: string | undefined): string | undefined => outcome?.split(':')[0];

export function testReceipts(verify: Verify): void {
  it('are accepted and refused as by the verifier of the service', async () => {
    const verdictsOf = async (cases: [string, Evidence][]): Promise<string[]> => {
      const outcomes = await verify(cases.map(([, evidence]) => evidence));
      return cases.map(([name], at) => `${name}: ${verdict(outcomes[at])}`);
    };
    const good = GENUINE.flatMap((one) => Object.entries(sound(one)));
    expect(await verdictsOf(good)).toEqual(good.map(([name]) => `${name}: accepted`));
    const bad = GENUINE.flatMap((one) => Object.entries(forgeries(one)));
    expect(await verdictsOf(bad)).toEqual(bad.map(([name]) => `${name}: refused`));
    const grown = GROWN.flatMap((receipt) => GROWN.map((kept) => evidenceOfGrowth(receipt, kept)));
    expect(new Set(await verify(grown))).toEqual(new Set(['accepted']));
  });

  it('of which one character is another are refused, whichever it is', async () => {
    const [{ receipt, keys } = expect.fail('no receipt')] = GENUINE;
    const text = JSON.stringify(receipt);
    // The notice is not proved, and no verifier looks at it.
    const end = text.indexOf('"notice":') + '"notice":'.length;
    expect(end).toBeGreaterThan(text.length / 2);
    const altered = Array.from({ length: end }, (_, at) => ({
      keys: JSON.stringify(keys),
      receipt: text.slice(0, at) + otherCharacter(text.charAt(at)) + text.slice(at + 1),
    }));
    const outcomes = await verify(altered);
    expect(altered.filter((_, at) => verdict(outcomes[at]) !== 'refused')).toEqual([]);
  });
}

/** Another character of the same kind where there is one, so that the text stays JSON. */
function otherCharacter(character: string): string {
  if (/\d/.test(character)) return String((Number(character) + 1) % 10);
  if (/[a-z]/i.test(character))
    return character.toLowerCase() === 'z' ? 'a' : String.fromCharCode(character.charCodeAt(0) + 1);
  return character === '_' ? '-' : '_';
}

export function testDerivedReceipts(verify: Verify): void {
  it('of derived figures are recomputed, and refused where they are forged', async () => {
    await using root = await mkdtempDisposable(join(tmpdir(), 'alm-derived-'));
    await publishProvable(root.path);
    await using service = await Service.start({ snapshots: root.path });
    const { key } = await service.account({ credits: 1_000_000 });
    const receipts = await provedReceipts((path) => service.get(`/v1/${path}`, { key }));
    const keys = (await service.get('/.well-known/almanac-keys.json')).text;
    const outcomesOf = (all: readonly object[]) =>
      verify(all.map((receipt) => ({ receipt: JSON.stringify(receipt), keys })));
    expect(await outcomesOf(receipts)).toEqual(receipts.map(() => 'accepted'));
    const refused = (await outcomesOf(receipts.flatMap(forgedFrom))).map(verdict);
    expect([new Set(refused), refused.length > 100]).toEqual([new Set(['refused']), true]);
  });
}
