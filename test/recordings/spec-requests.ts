/** The requests of the interface specification: each route under both prefixes, each parameter, each documented error. */

/** What the requests are about. */
export interface Subject {
  /** An indicator with several countries and years, and one with none of the following properties. */
  indicator: string;
  /** Null where the snapshot has none. */
  displayOnly: string | null;
  unranked: string | null;
  provider: string;
  topic: string;
  words: string;
  country: string;
  others: string;
  from: number;
  to: number;
  region: string;
  incomeGroup: string;
}

export interface RecordedRequest {
  path: string;
  caller: 'anonymous' | 'owner' | 'penniless' | 'rejected';
}

const FREE_LISTS = ['/countries', '/indicators', '/topics', '/meta/freshness', '/meta/coverage'];

const indicatorLists = ({ words, topic, provider }: Subject): string[] =>
  [
    ...[`q=${words}`, `topic=${topic}`, `provider=${provider}`, 'featured=true', 'featured=0'],
    ...['projections=true', 'projections=false', 'limit=3', 'limit=3&offset=2', 'offset=1', 'limit=501'],
    ...['name', 'coverage', 'latest', 'topic', 'source'].flatMap((sort) =>
      ['', '&dir=asc', '&dir=desc'].map((dir) => `sort=${sort}${dir}`),
    ),
    ...['dir=desc', `q=${words}&sort=name&dir=desc`, `q=${words}&limit=1`, 'topic=none', 'q=zzzzz'],
    ...['sort=size', 'dir=up', 'limit=0', 'limit=x', 'offset=-1', 'featured=maybe'],
  ].map((query) => `/indicators?${query}`);

function freePaths(subject: Subject): string[] {
  const { indicator, displayOnly, region, incomeGroup } = subject;
  const [byRegion, byGroup] = [
    `region=${encodeURIComponent(region)}`,
    `income_group=${encodeURIComponent(incomeGroup)}`,
  ];
  return [
    ...FREE_LISTS,
    ...[byRegion, byGroup, `${byRegion}&${byGroup}`, 'region=Atlantis'].map((query) => `/countries?${query}`),
    ...indicatorLists(subject),
    ...[indicator, displayOnly ?? 'none.such', 'none.such', indicator.toUpperCase()].map(
      (id) => `/indicators/${id}`,
    ),
  ];
}

function pricedPaths(subject: Subject): string[] {
  const { indicator, displayOnly, unranked, country, others, topic, from, to } = subject;
  const listed = `countries=${country},${others.toLowerCase()}`;
  return [
    ...[country, country.toLowerCase(), 'ZZZ', 'x'].map((code) => `/countries/${code}`),
    ...[
      'featured=true',
      'featured=no',
      `topic=${topic}`,
      `topic=${topic}&featured=1`,
      'topic=none',
      'featured=x',
    ].map((query) => `/countries/${country}?${query}`),
    ...['', '?year=latest', `?year=${from}`, '?year=1066', '?year=now'].map(
      (query) => `/rankings/${indicator}${query}`,
    ),
    ...[unranked, displayOnly, 'none.such'].map((id) => `/rankings/${id ?? 'none.such'}`),
    `/data?indicator=${indicator}`,
    ...[
      listed,
      `countries=%20${country}%20,${others}`,
      `from=${from}`,
      `to=${to}`,
      `${listed}&from=${from}&to=${to}`,
    ].flatMap((query) =>
      ['', '&format=json', '&format=csv'].map((format) => `/data?indicator=${indicator}&${query}${format}`),
    ),
    ...['countries=ZZZ', `from=${to}&to=${from - 1}`, 'from=x', 'countries=', 'to=x'].map(
      (query) => `/data?indicator=${indicator}&${query}`,
    ),
    ...['/data', '/data?indicator=none.such', `/data?indicator=${displayOnly ?? 'none.such'}`],
    ...['/usage?days=0', '/usage?days=91', '/usage?days=x'],
  ];
}

/** In the order in which they are sent: usage counts those before it. */
export function specRequests(subject: Subject): RecordedRequest[] {
  const free = freePaths(subject);
  const priced = pricedPaths(subject);
  const needKey = [
    '/ping',
    '/usage',
    `/countries/${subject.country}`,
    `/data?indicator=${subject.indicator}`,
  ];
  const under = (prefix: string, paths: string[], caller: RecordedRequest['caller']) =>
    paths.map((path) => ({ path: prefix + path, caller }));
  return [
    ...under('/v1', free, 'anonymous'),
    ...under('/v1', [...FREE_LISTS, `/indicators/${subject.indicator}`], 'owner'),
    ...under('/v1', priced, 'owner'),
    ...under('/v1', ['/ping', '/usage?days=1', '/usage?days=7', '/usage'], 'owner'),
    ...under('/v1', needKey, 'anonymous'),
    ...under('/v1', [...needKey, ...FREE_LISTS], 'rejected'),
    ...under('/v1', needKey, 'penniless'),
    ...under('/data/api/v1', [...free.slice(0, 8), ...needKey.slice(2)], 'owner'),
  ];
}

/** Of the fixture. */
export const FIXTURE_SUBJECT: Subject = {
  indicator: 'alpha.life_expectancy',
  displayOnly: 'gamma.reserves',
  unranked: 'alpha.regime_code',
  provider: 'alpha',
  topic: 'population',
  words: 'life',
  country: 'KEN',
  others: 'DEU',
  from: 2020,
  to: 2022,
  region: 'South Asia',
  incomeGroup: 'High income',
};

/** Of the starter data. */
export const STARTER_SUBJECT: Subject = {
  indicator: 'world-bank.SP.POP.TOTL',
  displayOnly: null,
  unranked: null,
  provider: 'world-bank',
  topic: 'population',
  words: 'electricity',
  country: 'PER',
  others: 'CHL',
  from: 2015,
  to: 2020,
  region: 'South Asia',
  incomeGroup: 'High income',
};
