/** All rows of the WHO's 61 exports against an independent reading. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { RawObservation } from '../../../build/connectors/connector.ts';
import { whoGho } from '../../../build/connectors/who-gho.ts';
import { describeWithMirror } from '../../mirror.ts';
import { mirrorRows } from '../fakes/who-gho.ts';
import { directoryUpstream, readAll } from './read-connector.ts';

const ALL_ROWS = 326_156;
const GAPS = new Set(['', 'no data', 'not available', 'not applicable', '…', '...', '.', '-', '–']);

type Row = Record<string, string>;

/** Place, year, value and bounds of a row, with figures as doubles. */
function formatExpected(row: Row): string {
  const double = (text: string | undefined): string => (text ? String(Number(text)) : 'null');
  const shown = GAPS.has((row['Display Value'] ?? '').trim().toLowerCase())
    ? 'null'
    : row['Display Value']?.trim();
  const value = row.Numeric ? double(row.Numeric) : shown;
  const place = row.COUNTRY || row.REGION || row.WORLDBANKINCOMEGROUP || row.UNREGION || '';
  return [place, row.YEAR, value, double(row.Low), double(row.High)].join('|');
}

function formatActual({ place, year, value, ci_lo, ci_hi }: RawObservation): string {
  const formatFigure = (figure: number | string | null | undefined): string =>
    typeof figure === 'string' && /^[\d.-]+$/.test(figure) ? String(Number(figure)) : String(figure);
  const number =
    typeof value === 'string' && /^-?\d+\.\d{5}$/.test(value) ? String(Number(value)) : String(value);
  return [place, String(year), number, formatFigure(ci_lo), formatFigure(ci_hi)].join('|');
}

describeWithMirror('the exports of the Global Health Observatory', (mirror) => {
  const definition = parse(
    readFileSync(new URL('../../../data/providers/who-gho.yaml', import.meta.url), 'utf8'),
  );
  const { rowsOf, codes } = mirrorRows(mirror);

  it('are read row by row', async () => {
    const { source, mirror: over } = definition;
    const settings = { ...source, ...over.source };
    const upstream = directoryUpstream(join(mirror, 'who-gho'));
    const { series, failed, vintage } = await readAll(whoGho, settings, upstream);
    expect([[...failed], vintage]).toEqual([[], '2018-07']);
    let total = 0;
    for (const code of codes) {
      const slugs = [...series.keys()].filter(
        (slug) => slug === code || (/^_(F?MLE)$/.test(slug.slice(code.length)) && slug.startsWith(code)),
      );
      const actual = slugs.flatMap((slug) => series.get(slug)?.rows ?? []).map(formatActual);
      const expected = (rowsOf(code) ?? []).map(formatExpected);
      total += actual.length;
      expect(actual.sort(), code).toEqual(expected.sort());
    }
    expect(total).toBe(ALL_ROWS);
    const rows = [...series.values()].flatMap((one) => one.rows);
    expect(rows.filter((row) => row.withdrawn)).toHaveLength(2_200);
    expect(rows.filter((row) => row.aggregate)).toHaveLength(13_754);
    expect(rows.filter((row) => !/^\d{4}$/.test(String(row.year)))).toHaveLength(1_619);
    expect(rows.filter((row) => row.ci_lo !== null)).toHaveLength(203_589);
  });
});
