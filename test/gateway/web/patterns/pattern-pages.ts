/**
 * Pages that show every component of the site, the account area and the operator area once, from the templates, filters
 * and styles of the service. They are served to tests only.
 */
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { createFormToken } from '../../../../gateway/commerce/people/form-submissions.ts';
import { ASSET_PATHS, installAssets } from '../../../../gateway/site/assets.ts';
import { SERIES_MAX } from '../../../../gateway/site/charts/drawing.ts';
import { pageChart, pageMap, pictureLabels } from '../../../../gateway/site/charts/frame.ts';
import { lineChart } from '../../../../gateway/site/charts/lines.ts';
import { DIVERGING, worldMap } from '../../../../gateway/site/charts/map.ts';
import { pairFigures, scatterChart } from '../../../../gateway/site/charts/scatter.ts';
import { shownRanking } from '../../../../gateway/site/indicator/shown-figures.ts';
import { listPage } from '../../../../gateway/site/lists.ts';
import { type LayoutData, siteEnvironment } from '../../../../gateway/site/page.ts';
import { asPlace } from '../../../../gateway/site/series.ts';
import { barChart } from '../../../../gateway/web/templates.ts';
import { INDICATORS, PROVIDERS } from '../../fixture-data.ts';
import { COUNTRIES, history, point, yearOf } from '../../site/chart-figures.ts';

export const PATTERN_PATHS = [
  '/patterns/site',
  '/patterns/account',
  '/patterns/operations',
  '/patterns/embed',
] as const;

const UNIT = 'years';
const POLICY = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'";
const DAYS = Array.from({ length: 30 }, (_, at) => `2026-11-${String(at + 1).padStart(2, '0')}`);
/** Every word that has a colour, and one that has none. */
const STATES = [
  'active paid succeeded done enabled delivered fresh pending partial warning outdated ready running queued',
  'suspicious due waiting suspended critical error worse failed late disabled never',
].flatMap((words) => words.split(' '));

const environment = siteEnvironment([import.meta.dirname]);
environment.addGlobal('createFormToken', createFormToken);

/** A record with long texts, as they occur. */
function exampleRecord(access_tier: 'open' | 'display'): IndicatorRecord {
  const [indicator] = INDICATORS;
  if (indicator === undefined) throw new Error('the fixture has no indicator');
  const provider = PROVIDERS.alpha;
  return {
    id: indicator.id,
    topic: indicator.topic,
    provider,
    access_tier,
    unit: UNIT,
    name: 'Labor force participation rate, total (% of total population ages 15+) (modeled ILO estimate)',
    description: 'Share of people aged fifteen or older who work or look for work.',
    higher_is_better: null,
    preferred: true,
    featured: true,
    no_rank: false,
    licence: provider.licence,
    licence_url: provider.licence_url,
    attribution: provider.attribution,
    coverage: { n_countries: 216, yr_min: 1960, yr_max: 2024, latest_year: 2023 },
  };
}

const year = yearOf((_, at) => (at % 9 === 4 ? null : 50 + ((at * 37) % 360) / 10));
const series = { record: exampleRecord('open'), credited: [exampleRecord('open')] };
const labels = pictureLabels(series, [2023, 2023]);

/** As many lines as there are colours, with gaps, bounds and projections. */
function exampleLines() {
  const lines = COUNTRIES.slice(0, SERIES_MAX).map(({ iso3 }, line) =>
    history(
      iso3,
      Array.from({ length: 40 }, (_, at) => {
        const value = line * 6 + at / 2 - 12;
        return point(1990 + at, value, { ciLo: value - 2, ciHi: value + 2, projected: at > 34 });
      }).filter(({ year: of }) => line !== 1 || of < 2000 || of > 2004),
    ),
  );
  return lineChart(lines, UNIT);
}

function siteData(): object {
  const group = { id: 'un-africa', members: new Set(['KEN']) };
  const map = worldMap(year, { unit: UNIT, outlines: ASSET_PATHS.outlines, hasTitles: true, group });
  const chosen = COUNTRIES.slice(0, 3).map(({ iso3 }) => iso3);
  const scatter = scatterChart(pairFigures(year, year), { across: 'A', up: 'B', chosen, hasTitles: true });
  const list = listPage(DAYS.concat(DAYS, DAYS, DAYS), 2, '/patterns/site');
  if (list === undefined) throw new Error('the example has no second page');
  const figures = year.figures.slice(0, 20).map((figure, at) => ({ ...figure, projected: at === 2 }));
  const remarks = new Map(
    figures.slice(0, 2).map(({ country }) => [country.iso3, { status: 'estimated, provisional' }]),
  );
  const item = { indicator: 'alpha.life_expectancy', unit: UNIT, year: 2023, value: 63.5, featured: true };
  const ranked = (rank: number, change: number) => ({ rank, of: 216, change });
  const women = { ...item, name: 'Life expectancy at birth, women', ranking: ranked(120, -14) };
  const sparkline = { from: 1990, heights: [0, 20, null, 40, 99, 70] };
  return {
    list,
    hits: (['open', 'display'] as const).map((tier) => ({
      record: exampleRecord(tier),
      path: '/indicators/alpha.life_expectancy',
      excerpt: 'Share of people aged fifteen …',
      alsoFrom: [exampleRecord(tier)],
    })),
    country: COUNTRIES[0],
    items: [
      { ...item, name: 'Life expectancy', ranking: ranked(12, 2), sparkline, twins: [women] },
      { ...women, sparkline, twins: [] },
      { ...item, name: 'Healthy life expectancy', ranking: null, sparkline: null, twins: [] },
    ],
    ranking: {
      ...shownRanking({ figures, missing: [] }, { ...series, remarks, isComparable: true }),
      hasBounds: true,
    },
    ofYear: { year: 2021, group: null, unknown: null, groups: [] },
    state: {},
    latest: { year: 2021 },
    fields: { countries: 'KEN,@world', aggregate: 'declared' },
    shown: { problems: ['“per_head” makes no sense for “Life expectancy”.'], formula: 'v(t) − v(t−10)' },
    offered: {
      transforms: [
        { label: '', choices: [{ value: '', label: 'As published', isChosen: false }] },
        {
          label: 'Change',
          choices: [{ value: 'change:10', label: 'over 10 years, since 2013', isChosen: true }],
        },
      ],
      groups: [{ code: '@world', name: 'World' }],
    },
    record: exampleRecord('open'),
    map: pageMap(map, labels, 'map'),
    legend: map.legend,
    diverging: DIVERGING,
    charts: [pageChart(scatter, labels, 'scatter')],
    drawn: {
      problems: ['The year 2020 is after 2019.'],
      years: [2023, 2024],
      from: 2023,
      to: 2024,
      isLog: true,
      id: 'lines',
      picture: pageChart(exampleLines(), labels, 'lines-picture'),
      table: {
        places: COUNTRIES.slice(0, 2).map(asPlace),
        decimals: 1,
        exact: [true, true],
        rows: [2024, 2023].map((of) => ({ year: of, cells: [null, point(of, 63.5, { projected: true })] })),
      },
    },
  };
}

const LAYOUT: LayoutData = {
  title: 'Components',
  description: 'Every component once.',
  section: 'docs',
  picture: '',
  address: 'https://almanac.example',
  canonical: null,
  structured: null,
  editionId: '20261120T020000Z-00000001',
  publishedAt: '2026-11-20T02:00:00Z',
};

const areaData = (isPublic: boolean): object => ({
  title: 'Components',
  notice: 'The catalogue is being rebuilt.',
  site: { root: '/admin', name: 'Almanac operations', navName: 'Operations', isPublic },
  user: { email: 'a-rather-long-address-of-an-operator@example.org', role: 'operator' },
  csrf: 'token',
  nav: ['Dashboard', 'Indicators', 'Quality', 'Runs', 'Users', 'Privacy requests', 'Audit log'].map(
    (label, at) => ({ label, path: `/admin/${at}`, isCurrent: at === 1 }),
  ),
  bars: ['Requests', 'Credits'].map((title) =>
    barChart(
      title.toLowerCase(),
      title,
      DAYS.map((label, at) => ({ label, value: (at * 7) % 11 })),
    ),
  ),
  pager: { total: 90, from: 31, to: 60, previous: '?page=1', next: '?page=3' },
  days: DAYS,
  states: STATES,
  created_ms: Date.UTC(2026, 10, 20, 2),
});

const embedData = (): object => ({
  labels,
  chart: pageChart(exampleLines(), labels, 'picture'),
  legend: [],
  link: '/indicators/alpha.life_expectancy',
});

/** HTML of one of the pages. */
export function renderPattern(path: string): string {
  if (path === '/patterns/site')
    return environment.render('patterns-site.njk', { ...siteData(), page: LAYOUT });
  if (path === '/patterns/account') return environment.render('patterns-area.njk', areaData(true));
  if (path === '/patterns/operations') return environment.render('patterns-area.njk', areaData(false));
  return environment.render('embed.njk', { ...embedData(), page: LAYOUT });
}

export interface PatternPages {
  url: string;
  stop(): Promise<void>;
}

/** Serves them on a free port, under a policy that allows nothing inline. */
export async function startPatternPages(): Promise<PatternPages> {
  const app = fastify();
  installAssets(app);
  for (const path of PATTERN_PATHS)
    app.get(path, (_request, reply) =>
      reply
        .header('Content-Security-Policy', POLICY)
        .type('text/html; charset=utf-8')
        .send(renderPattern(path)),
    );
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => app.close() };
}
