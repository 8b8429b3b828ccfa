/**
 * Published figures of OWID, UNICEF, the IMF and UNDP against their upstream files, through ingestion, build and gateway
 * (or Parquet, for display-only series). Expectations come from the files alone, and from the place codes that OWID and
 * UNDP publish themselves.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadCurated } from '../../../data/curated/curated.ts';
import type { ObservationRow } from '../../../data/schema/records.ts';
import { Service } from '../../gateway/service.ts';
import { describeWithMirror } from '../../mirror.ts';
import { buildMirror, runOf } from '../../shared-builds.ts';
import { type CatalogueIndex, readCatalogue, showSnapshot } from '../../shown-snapshot.ts';
import { withoutEmptyCells } from '../fakes/expected-rows.ts';
import { query } from '../parquet-readers.ts';

type Row = Record<string, string>;
type Figure = [
  iso3: string,
  year: number,
  value: number | null,
  lo: number | null,
  hi: number | null,
  projected: boolean,
];

const PROVIDERS = ['imf', 'owid', 'owid-datasets', 'undp', 'unicef'];
const number = (text: string | undefined): number | null => (text ? Number(text) : null);
/** Rows of a file with several series, without the empty cells outside the measured years of a country. */
const measured = (rows: Figure[]): Figure[] =>
  withoutEmptyCells(rows, ([place, year, value]) => ({ place, year, isEmpty: value === null }));
const figuresOf = (rows: readonly Partial<ObservationRow>[]): Figure[] =>
  rows.map((row) => [row.iso3, row.year, row.value, row.ci_lo, row.ci_hi, row.projected] as Figure);
const sorted = (rows: Figure[]): Figure[] =>
  rows.toSorted((a, b) => (a[0] === b[0] ? a[1] - b[1] : a[0] < b[0] ? -1 : 1));

describeWithMirror('published figures of OWID, UNICEF, IMF and UNDP', (mirror) => {
  let catalogue: CatalogueIndex;
  let snapshot: string;
  let service: Service | undefined;
  let key: string;
  const spine = new Set<string>();

  const table = async (...path: string[]): Promise<Row[]> =>
    parse(await readFile(join(mirror, ...path)), { columns: true, bom: true });

  beforeAll(async () => {
    for (const { iso3, enabled } of (await loadCurated('data')).countries) if (enabled) spine.add(iso3);
    const built = await buildMirror(mirror);
    for (const id of PROVIDERS) expect((await runOf(built, id)).status, id).toBe('succeeded');
    const shown = await showSnapshot(built.snapshots);
    snapshot = shown.directory;
    catalogue = await readCatalogue(shown);
    service = await Service.start({ snapshots: built.snapshots });
    ({ key } = await service.account({ credits: 100_000_000 }));
  });

  afterAll(() => service?.stop());

  const idsOf = (provider: string): string[] =>
    catalogue.indicators
      .map(({ record }) => record.id)
      .filter((id) => id.startsWith(`${provider}.`))
      .sort();

  const idsFor = (provider: string, bySlug: object): string[] =>
    Object.keys(bySlug)
      .map((slug) => `${provider}.${slug}`)
      .sort();

  /** The figures of an open series from the API, of a display-only one from the snapshot. */
  async function published(id: string): Promise<Figure[]> {
    const record = catalogue.indicators.find((indicator) => indicator.record.id === id)?.record;
    if (record?.access_tier === 'open') return answered(id);
    const file = join(snapshot, 'observations', `${id}.parquet`);
    return figuresOf(await query(`SELECT * FROM read_parquet('${file}') ORDER BY iso3, year`));
  }

  async function answered(id: string): Promise<Figure[]> {
    const answer = await service?.get(`/v1/data?indicator=${id}`, { key });
    expect(answer?.status, id).toBe(200);
    return figuresOf(answer?.json.data);
  }

  /** The ISO code of an OWID place code, if it is a country. */
  const owidPlace = (code: string): string | null => {
    const iso3 = code === 'OWID_KOS' ? 'XKX' : code;
    return spine.has(iso3) ? iso3 : null;
  };

  it('decides what every series of all providers measures', () => {
    const undecided = catalogue.indicators.filter(({ traits }) => traits?.measured.decided_by == null);
    expect(undecided.map(({ record }) => record.id)).toEqual([]);
    const methods = catalogue.indicators.map(({ traits }) => traits?.measured.decided_by);
    expect([...new Set(methods)].sort()).toEqual(['provider', 'row', 'rule']);
  });

  it('publishes every cell of every country of the OWID charts', async () => {
    const columns: Record<string, string> = {
      'child-mortality': 'Under-five mortality rate (selected)',
      'share-of-individuals-using-the-internet': 'Share of the population using the Internet',
      'share-of-population-urban': 'Urban population (% of total population)',
      'share-of-the-population-with-access-to-electricity':
        'Share of the population with access to electricity',
      'population-total': 'Total',
      'population-ages-65': 'Ages 65+',
      'population-ages-25-64': 'Ages 25-64',
      'population-under-25s': 'Under-25s',
      'population-under-15s': 'Under-15s',
      'population-under-5s': 'Under-5s',
    };
    expect(idsOf('owid')).toEqual(idsFor('owid', columns));
    for (const [slug, column] of Object.entries(columns)) {
      const isWide = slug.startsWith('population-');
      const chart = isWide ? 'population-by-age-group-with-projections' : slug;
      const rows = await table('owid', 'grapher', `${chart}.csv`);
      const expected = rows.flatMap((row): Figure[] => {
        const iso3 = owidPlace(row.Code ?? '');
        const forecast = !row[column] && Boolean(row[`${column} (Projected)`]);
        const value = number(forecast ? row[`${column} (Projected)`] : row[column]);
        return iso3 ? [[iso3, Number(row.Year), value, null, null, forecast]] : [];
      });
      expect(await published(`owid.${slug}`), slug).toEqual(sorted(isWide ? measured(expected) : expected));
    }
  });

  it('publishes every cell of every country of the OWID data sets, by OWID place codes', async () => {
    // Names in these older sets that OWID has since changed.
    const codes = new Map<string, string>(
      Object.entries({
        Swaziland: 'SWZ',
        Macedonia: 'MKD',
        'Czech Republic': 'CZE',
        "Cote d'Ivoire": 'CIV',
        'Democratic Republic of Congo': 'COD',
        Timor: 'TLS',
        'Faeroe Islands': 'FRO',
        'Cape Verde': 'CPV',
        'Micronesia (country)': 'FSM',
        'Palestinian territory': 'PSE',
        Curacao: 'CUW',
      }),
    );
    for (const name of await readdir(join(mirror, 'owid', 'grapher'))) {
      if (!name.endsWith('.csv')) continue;
      for (const row of await table('owid', 'grapher', name))
        if (row.Entity && row.Code) codes.set(row.Entity, row.Code);
    }
    const maddison = 'Maddison Project Database 2020 (Bolt and van Zanden (2020))';
    const sets: Record<string, [set: string, value: string, lo?: string, hi?: string]> = {
      'child-mortality-igme-2018': [
        'Child Mortality Estimates - CME Info (2018)',
        'Child Mortality Estimates (CME Info (2016))',
      ],
      'government-expenditure': [
        'Government Expenditure – IMF based on Mauro et al. (2015)',
        'Government Expenditure (IMF based on Mauro et al. (2015))',
      ],
      // The column named "upper" holds the smaller bound.
      'government-transparency': [
        'Government Transparency index - Hollyer et al. (2014)',
        'gov_transparency',
        'gov_transparency_upper',
        'gov_transparency_lower',
      ],
      'income-classification': [
        'Country Income Classification - World Bank (2017)',
        'Income classification (World Bank 2017)',
      ],
      'maddison-gdp': [maddison, 'GDP'],
      'maddison-gdp-per-capita': [maddison, 'GDP per capita'],
      'maddison-population': [maddison, 'Population'],
    };
    expect(idsOf('owid-datasets')).toEqual(idsFor('owid-datasets', sets));
    for (const [slug, [set, column, lo = '', hi = '']] of Object.entries(sets)) {
      const rows = await table('owid', 'owid-datasets', set, `${set}.csv`);
      const expected = rows.flatMap((row): Figure[] => {
        const iso3 = owidPlace(codes.get(row.Entity ?? '') ?? '');
        const figures = [number(row[column]), number(row[lo]), number(row[hi])] as const;
        return iso3 ? [[iso3, Number(row.Year), ...figures, false]] : [];
      });
      const isWide = slug.startsWith('maddison-');
      expect(await published(`owid-datasets.${slug}`), slug).toEqual(
        sorted(isWide ? measured(expected) : expected),
      );
    }
  });

  it('publishes every IMF cell, text as gaps, and the forecasts of each country and series', async () => {
    const last = new Map(
      (await table('imf-weo', 'ddf--notes.csv')).map((row) => [
        `${row.country} ${row.concept}`,
        Number(row.estimates_start_after),
      ]),
    );
    const place: Record<string, string> = { uvk: 'XKX', wbg: 'PSE' };
    const ids = idsOf('imf');
    expect(ids).toHaveLength(45);
    for (const id of ids) {
      const slug = id.slice('imf.'.length);
      const rows = await table('imf-weo', `ddf--datapoints--${slug}--by--country--year.csv`);
      const expected = rows.flatMap((row): Figure[] => {
        const iso3 = place[row.country ?? ''] ?? (row.country ?? '').toUpperCase();
        const text = ['n/a', '--'].includes(row[slug] ?? '') ? '' : row[slug];
        const boundary = last.get(`${row.country} ${slug}`) || 2018;
        return spine.has(iso3)
          ? [[iso3, Number(row.year), number(text), null, null, Number(row.year) > boundary]]
          : [];
      });
      expect(await published(id), id).toEqual(sorted(expected));
    }
  });

  it('describes all without markup', () => {
    const descriptions = catalogue.indicators.map(({ record }) => record.description ?? '');
    expect(descriptions.filter((text) => /<\/?[a-z]+[ >]|href=/i.test(text))).toEqual([]);
  });

  it('gives each IMF series a name of its own and a unit, and ranks none in national currency or on an index base', () => {
    const records = catalogue.indicators
      .map(({ record }) => record)
      .filter(({ id }) => id.startsWith('imf.'));
    expect(new Set(records.map(({ name }) => name)).size).toBe(records.length);
    expect(records.filter(({ unit }) => !unit)).toEqual([]);
    const ranked = records.filter(({ no_rank }) => !no_rank);
    expect(ranked.filter(({ unit }) => /national currency|^index$/.test(unit ?? ''))).toEqual([]);
  });

  it('publishes every UNDP cell, by the ISO codes of UNDP', async () => {
    const iso3 = new Map(
      (await table('undp-hdi', 'etl', 'source', 'HDR21-22_complete_time_series.csv')).map((row) => [
        row.country,
        row.iso3,
      ]),
    );
    const names = new Map(
      (await table('undp-hdi', 'ddf--entities--country.csv')).map((row) => [row.country, row.name]),
    );
    const rows = await table('undp-hdi', 'ddf--datapoints--hdi--by--country--year.csv');
    const expected = rows.flatMap((row): Figure[] => {
      const code = iso3.get(names.get(row.country) ?? '') ?? '';
      return spine.has(code) ? [[code, Number(row.year), number(row.hdi), null, null, false]] : [];
    });
    expect(await published('undp.hdi')).toEqual(sorted(expected));
  });

  it('publishes every UNICEF figure of the whole population once, with its bounds', async () => {
    const folder = ['sdmx', 'unicef', 'data'];
    const files = (await readdir(join(mirror, ...folder))).filter((name) => name.endsWith('.csv'));
    const rows = (await Promise.all(files.map((name) => table(...folder, name)))).flat();
    const whole = rows.filter((row) => (row.SEX ?? '_T') === '_T' && (row.WEALTH_QUINTILE ?? '_T') === '_T');
    const slugs = [...new Set(whole.map((row) => row.INDICATOR))];
    expect(idsOf('unicef')).toEqual(slugs.map((slug) => `unicef.${slug}`).sort());
    for (const slug of slugs) {
      const figures = new Map<string, Figure>();
      for (const row of whole.filter(
        ({ INDICATOR, REF_AREA }) => INDICATOR === slug && spine.has(REF_AREA ?? ''),
      )) {
        const bounds = [number(row.LOWER_BOUND), number(row.UPPER_BOUND)] as const;
        figures.set(`${row.REF_AREA} ${row.TIME_PERIOD}`, [
          row.REF_AREA ?? '',
          Number(row.TIME_PERIOD),
          number(row.OBS_VALUE),
          ...bounds,
          false,
        ]);
      }
      expect(await published(`unicef.${slug}`), slug).toEqual(sorted([...figures.values()]));
    }
  });

  it('contains no byte of a withheld series', async () => {
    const withheld = [
      'owid.share-electricity-renewables',
      'owid-datasets.life-satisfaction',
      'Cantril',
      'Prevalence of obesity',
    ];
    for (const entry of await readdir(snapshot, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = await readFile(join(entry.parentPath, entry.name));
      expect(
        withheld.filter((text) => bytes.includes(text)),
        entry.name,
      ).toEqual([]);
    }
  });
});
