/** Trees and canonical JSON against their definitions, written out naively here. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  descriptorLeaf,
  MerkleTree,
  type ObservationLeaf,
  observationLeaf,
} from '../../../data/proofs/merkle-tree.ts';
import {
  canonicalJson,
  leafHash,
  parseJson,
  rootOf,
  verifyConsistency,
} from '../../../data/proofs/verify-receipt.ts';

const hashOf = (...parts: (string | Uint8Array)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const powerBelow = (size: number): number => {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
};

/** MTH, PATH and PROOF as RFC 6962 section 2.1 defines them. */
function rootByDefinition(leaves: readonly string[]): Buffer {
  if (leaves.length === 1) return hashOf(Uint8Array.of(0), leaves[0] ?? '');
  const split = powerBelow(leaves.length);
  return hashOf(
    Uint8Array.of(1),
    rootByDefinition(leaves.slice(0, split)),
    rootByDefinition(leaves.slice(split)),
  );
}
function pathByDefinition(index: number, leaves: readonly string[]): Buffer[] {
  if (leaves.length === 1) return [];
  const split = powerBelow(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...pathByDefinition(index, left), rootByDefinition(right)]
    : [...pathByDefinition(index - split, right), rootByDefinition(left)];
}
function proofByDefinition(from: number, leaves: readonly string[], isKnown = true): Buffer[] {
  if (from === leaves.length) return isKnown ? [] : [rootByDefinition(leaves)];
  const split = powerBelow(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return from <= split
    ? [...proofByDefinition(from, left, isKnown), rootByDefinition(right)]
    : [...proofByDefinition(from - split, right, false), rootByDefinition(left)];
}

const leavesOf = (size: number): string[] => Array.from({ length: size }, (_, index) => `leaf ${index}`);
const SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 33];

describe('a tree', () => {
  it('has the roots of the Certificate Transparency test vectors', () => {
    const leaves = ['', '\0', '\x10', ' !', '01', '@ABC', 'PQRSTUVW', '`abcdefghijklmno'];
    const roots = leaves.map((_, count) => MerkleTree.of(leaves.slice(0, count + 1)).root.toString('hex'));
    expect([roots[0], roots[2], roots[7]]).toEqual([
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
      '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
    ]);
  });

  it.each(SIZES)('of %i leaves has the root, paths and proofs of RFC 6962, and they verify', (size) => {
    const leaves = leavesOf(size);
    const tree = MerkleTree.of(leaves);
    const root = rootByDefinition(leaves);
    expect(tree.root).toEqual(root);
    for (const [index, leaf] of leaves.entries()) {
      const path = tree.path(index);
      expect(path).toEqual(pathByDefinition(index, leaves));
      expect(rootOf(leafHash(leaf), index, size, path, 'The path')).toEqual(root);
    }
    for (let from = 1; from <= size; from += 1) {
      const proof = tree.consistency(from);
      expect(proof).toEqual(proofByDefinition(from, leaves));
      const earlier = { size: from, root: rootByDefinition(leaves.slice(0, from)) };
      verifyConsistency(earlier, { size, root }, proof);
    }
  });

  it.each(SIZES)(
    'of %i leaves has no path for another leaf, place or size, and none cut or padded',
    (size) => {
      const tree = MerkleTree.of(leavesOf(size));
      const leaf = leafHash('leaf 0');
      const path = tree.path(0);
      const isProof = (of: Buffer, index: number, within: number, siblings: Buffer[]): boolean => {
        try {
          return rootOf(of, index, within, siblings, 'The path').equals(tree.root);
        } catch {
          return false;
        }
      };
      expect(isProof(leaf, 0, size, path)).toBe(true);
      expect(isProof(leafHash('leaf 1'), 0, size, path)).toBe(false);
      expect(() => rootOf(leaf, 0, size, [...path, leaf], 'The path')).toThrow('too long');
      expect(isProof(leaf, size, size, path)).toBe(false);
      if (size > 1) {
        expect(isProof(leaf, 1, size, path)).toBe(false);
        expect(() => rootOf(leaf, 0, size, path.slice(0, -1), 'The path')).toThrow('too short');
        expect(isProof(leaf, 0, size, path.slice(1))).toBe(false);
      }
    },
  );

  it('refuses a log that does not begin with the earlier one', () => {
    for (const size of SIZES) {
      for (let from = 1; from < size; from += 1) {
        const leaves = leavesOf(size);
        const forked = leaves.with(from - 1, 'rewritten');
        const earlier = { size: from, root: MerkleTree.of(leaves.slice(0, from)).root };
        const later = MerkleTree.of(forked);
        for (const tree of [later, MerkleTree.of(leaves)]) {
          const proof = tree.consistency(from);
          expect(() => verifyConsistency(earlier, later, proof)).toThrow('does not extend');
        }
      }
    }
  });
});

const observation: fc.Arbitrary<ObservationLeaf> = fc.record({
  iso3: fc.constantFrom('DEU', 'ABW'),
  year: fc.integer({ min: -5000, max: 2100 }),
  value: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  ci_lo: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  ci_hi: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  status: fc.constantFrom(null, 'provisional'),
  projected: fc.boolean(),
});

describe('canonical JSON', () => {
  it('has the form of the examples of RFC 8785', () => {
    const text =
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
      '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}';
    expect(canonicalJson(JSON.parse(text))).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
    const names = { '€': 1, '\r': 2, '\ufb33': 3, '1': 4, '😀': 5, '\u0080': 6, ö: 7 };
    expect(Object.values(JSON.parse(canonicalJson(names)))).toEqual([4, 2, 6, 7, 1, 5, 3]);
    expect(() => canonicalJson('\ud800')).toThrow('not valid Unicode');
  });

  it('is what the leaves are made of', () => {
    fc.assert(
      fc.property(observation, (row) => {
        expect(observationLeaf(row)).toBe(canonicalJson({ ...row }));
      }),
    );
    const sources = [{ url: 'https://x.example/ä"', sha256: 'ab', bytes: 3, fetched_at: 'now' }];
    expect(descriptorLeaf({ provider: 'p', unit: null, indicator: 'p.i', sources })).toBe(
      '{"indicator":"p.i","provider":"p","sources":[{"bytes":3,"fetched_at":"now","sha256":"ab",' +
        '"url":"https://x.example/ä\\""}],"unit":null}',
    );
  });

  it('is only made of texts that say one thing', () => {
    const sound = ['1.0', '-0', '1e2', '100000000000000000000000', '0.1', '{"a":{"a":"a\\":1"}}'];
    for (const text of sound) expect(parseJson(text)).toEqual(JSON.parse(text));
    const numbers = ['0.10000000000000001', '9007199254740993', '1e400', '1e-400', '[123456789012345678]'];
    for (const text of numbers) expect(() => parseJson(text)).toThrow('not equal to its double');
    const repeated = ['{"a":1,"a":1}', '[{"b":{"a":1,"\\u0061":2}}]', '{"__proto__":1,"__proto__":1}'];
    for (const text of repeated) expect(() => parseJson(text)).toThrow('twice');
  });
});
