/** Receipts whose JSON means two things, or holds more, less or something else than a receipt does. */

type Change = (text: string) => string;

const replaced =
  (pattern: string | RegExp, by: string): Change =>
  (text) =>
    text.replace(pattern, by);

const FIRST_HASH = /(?<="path":\[)"([0-9a-f]{64})"/;
const INDEX = /(?<="index":)(\d+)/;
const ROWS = /(?<="rows":)\d+/;
const LICENCE = /(?<="licence":)"[^"]*"/;

const NUMBERS: Record<string, Change> = {
  'a number that is not equal to its double': replaced(ROWS, '$&.00000000000000000001'),
  'a number that is not equal to its double, in the notice': replaced(LICENCE, '0.10000000000000001'),
  'an integer that is not equal to its double': replaced(LICENCE, '9007199254740993'),
  'a number too large': replaced(ROWS, '1e400'),
  'a number with a huge exponent': replaced(ROWS, '1e99999999999999999999999'),
  'a number of ten thousand digits': replaced(ROWS, '1'.repeat(10_000)),
  'a number too small': replaced(LICENCE, '1e-400'),
  'a count beyond the safe integers': replaced(ROWS, '9007199254740992'),
  'a count beyond every tree': replaced(ROWS, '1e300'),
  'a count of zero': replaced(ROWS, '0'),
  'a count below zero': replaced(ROWS, '-$&'),
  'a count with a fraction': replaced(ROWS, '$&.5'),
  'a count as a text': replaced(ROWS, '"$&"'),
  'a count that is true': replaced(ROWS, 'true'),
  'no count': replaced(ROWS, 'null'),
  'an index below zero': replaced(INDEX, '-1'),
  'an index with a fraction': replaced(INDEX, '$1.5'),
  'an index as a text': replaced(INDEX, '"$1"'),
  'an index that is false': replaced(INDEX, 'false'),
  'not a number': replaced(LICENCE, 'NaN'),
  infinity: replaced(LICENCE, 'Infinity'),
  'minus infinity': replaced(LICENCE, '-Infinity'),
  'a number with a leading zero': replaced(ROWS, '0$&'),
  'a number with a plus': replaced(ROWS, '+$&'),
  'a number in hexadecimal digits': replaced(ROWS, '0x$&'),
  'a number with digits of another script': replaced(LICENCE, '٣'),
};

const MEMBERS: Record<string, Change> = {
  'a name twice': replaced('"year":', '"year":1,"year":'),
  'a name twice, once with escapes': replaced('"year":', '"ye\\u0061r":1,"year":'),
  'a name twice in the notice': replaced('"licence":', '"licence":1,"licence":'),
  'a name twice around the receipt': (text) => `{"data":1,"data":${text}}`,
  'a member too many': replaced('"rows":', '"true":true,"rows":'),
  'a member too few': replaced(/"rows":\d+,/, ''),
  'a member too many in the row': replaced('"year":', '"rank":1,"year":'),
  'a member too many in the descriptor': replaced('"sources":', '"rank":1,"sources":'),
  'a member too many in the edition': replaced('"published_at":', '"rank":1,"published_at":'),
  'a member too many in the proofs': replaced('"proofs":{', '"proofs":{"rank":1,'),
  'a member too many in a proof': replaced('"index":', '"rank":1,"index":'),
  'a prototype as a member': replaced('"rows":', '"__proto__":{},"rows":'),
  'a prototype as a member of the row': replaced('"year":', '"__proto__":{},"year":'),
  'a prototype in place of a member': replaced(/"rows":\d+/, '"__proto__":{$&}'),
  'another format': replaced('almanac-receipt/1', 'almanac-receipt/2'),
  'a path that is no list': replaced(/"path":\[[^\]]*\]/, '"path":{}'),
  'a path of numbers': replaced(FIRST_HASH, '1'),
  'a path of lists': replaced(FIRST_HASH, '[$&]'),
  'hashes in capitals': (text) => text.replace(/"[0-9a-f]{64}"\]/g, (hash) => hash.toUpperCase()),
  'a hash that is too short': replaced(/(?<="path":\[")[0-9a-f]{2}/, ''),
  'a hash with a newline': replaced(FIRST_HASH, '"$1\\n"'),
  'a hash with a space': replaced(FIRST_HASH, '" $1"'),
  'a hash with a prefix': replaced(FIRST_HASH, '"0x$1"'),
  'a checkpoint that is no text': replaced(/"checkpoint":"/, '"checkpoint":1,"was":"'),
};

const TEXTS: Record<string, Change> = {
  'half a receipt': (text) => text.slice(0, -1),
  'more after the receipt': (text) => `${text}{}`,
  'a zero byte after the receipt': (text) => `${text}\0`,
  'a comma too many': replaced(/\}$/, ',}'),
  'a comment': (text) => `${text}// sound`,
  'a byte order mark': (text) => `\ufeff${text}`,
  'a space that JSON does not know': (text) => `\u00a0${text}`,
  'single quotes': replaced('"row"', "'row'"),
  'a control character': replaced(LICENCE, '"\u0001"'),
  'half of a character': replaced(LICENCE, '"\\ud800"'),
  'half of a character in a name': replaced('"licence"', '"\\udc00"'),
  'two halves in the wrong order': replaced(LICENCE, '"\\udc00\\ud800"'),
  'depth without end': replaced(LICENCE, `${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  'more levels than 64': replaced(LICENCE, `${'['.repeat(63)}${']'.repeat(63)}`),
  'a list of receipts': (text) => `[${text}]`,
  'a body in a body': (text) => `{"data":{"data":${text}}}`,
  'an empty body': () => '{"data":null}',
  nothing: () => '',
  null: () => 'null',
  'a text': () => '"receipt"',
};

/** Changes of a receipt's text, by name. A verifier refuses each outcome. */
export const MALFORMED_JSON: Readonly<Record<string, Change>> = { ...NUMBERS, ...MEMBERS, ...TEXTS };
