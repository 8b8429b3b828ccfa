/**
 * A fake of the WHO's OData service that serves rows of the older CSV exports: dimensions in three slots with prefixed
 * codes, next links to the real service, a list of indicators.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { json, type Route } from './server.ts';

type Row = Record<string, string>;

const PARENTS = ['REGION', 'WORLDBANKINCOMEGROUP', 'UNREGION'];
const SLOTLESS = new Set([
  'GHO',
  'PUBLISHSTATE',
  'YEAR',
  'COUNTRY',
  'DATASOURCE',
  'Display Value',
  'Numeric',
  'Low',
  'High',
  'Comments',
  ...PARENTS,
]);

const numberOrNull = (text: string | undefined): number | null => (text ? Number(text) : null);

function slots(row: Row): object {
  const dimensions = Object.entries(row).filter(([name, code]) => !SLOTLESS.has(name) && code !== '');
  const pairs = [1, 2, 3].flatMap((slot) => {
    const [type, code] = dimensions[slot - 1] ?? [null, null];
    return [
      [`Dim${slot}Type`, type],
      [`Dim${slot}`, type === null ? null : `${type}_${code}`],
    ];
  });
  return Object.fromEntries(pairs);
}

/** One row of an export in the service's format. */
function odataOf(row: Row, id: number): object {
  const parent = PARENTS.find((name) => row[name]) ?? 'REGION';
  const [begin = '', end = begin] = (row.YEAR ?? '').split('-');
  return {
    Id: id,
    IndicatorCode: row.GHO,
    SpatialDimType: row.COUNTRY ? 'COUNTRY' : parent,
    SpatialDim: row.COUNTRY || row[parent] || '',
    ParentLocationCode: row.REGION || null,
    TimeDimType: 'YEAR',
    TimeDim: end === '' ? null : Number(end),
    ...slots(row),
    DataSourceDimType: row.DATASOURCE ? 'DATASOURCE' : null,
    DataSourceDim: row.DATASOURCE ? `DATASOURCE_${row.DATASOURCE}` : null,
    Value: row['Display Value'],
    NumericValue: numberOrNull(row.Numeric),
    Low: numberOrNull(row.Low),
    High: numberOrNull(row.High),
    Comments: row.Comments || null,
    Date: '2018-07-01T00:00:00+02:00',
    TimeDimensionValue: row.YEAR,
    TimeDimensionBegin: begin === '' ? null : `${begin}-01-01T00:00:00+01:00`,
    TimeDimensionEnd: end === '' ? null : `${end}-12-31T00:00:00+01:00`,
    // Not in the real service; added to test withdrawn rows.
    PublishState: row.PUBLISHSTATE,
  };
}

/** @param rowsOf the rows of one indicator's export, or null when there is no such indicator */
export function ghoRoute(
  rowsOf: (code: string) => Row[] | null,
  names: ReadonlyMap<string, string>,
  pageSize: number,
): Route {
  return (url) => {
    const code = decodeURIComponent(url.pathname.slice(1));
    const skip = Number(url.searchParams.get('$skip') ?? 0);
    const context = `https://ghoapi.azureedge.net/api/$metadata#${code}`;
    if (code === 'Indicator') {
      const value = [...names].map(([IndicatorCode, IndicatorName]) => ({
        IndicatorCode,
        IndicatorName,
        Language: 'EN',
      }));
      return json({ '@odata.context': context, value });
    }
    const rows = rowsOf(code);
    if (rows === null) return { status: 404, body: JSON.stringify({ error: { message: `no ${code}` } }) };
    const value = rows.slice(skip, skip + pageSize).map((row, index) => odataOf(row, skip + index + 1));
    const next = skip + pageSize;
    const more =
      next < rows.length
        ? { '@odata.nextLink': `https://ghoapi.azureedge.net/api/${code}?$skip=${next}` }
        : {};
    return json({ '@odata.context': context, value, ...more });
  };
}

/** The WHO exports in the mirror. */
export function mirrorRows(mirror: string): { rowsOf(code: string): Row[] | null; codes: string[] } {
  const folder = join(mirror, 'who-gho/etl/source');
  return {
    codes: readdirSync(folder).map((name) => name.replace(/\.csv$/, '')),
    rowsOf(code) {
      const file = join(folder, `${code}.csv`);
      return existsSync(file) ? parse(readFileSync(file), { bom: true, columns: true }) : null;
    },
  };
}
