/** The requests of the interface specification: each route under both prefixes, each parameter, each documented error. */

/** What the requests are about: in the fixture, an indicator with several countries and years, and others. */
const INDICATOR = 'alpha.life_expectancy';
const DISPLAY_ONLY = 'gamma.reserves';
const UNRANKED = 'alpha.regime_code';
const [WORDS, TOPIC, PROVIDER] = ['life', 'population', 'alpha'];
const [COUNTRY, OTHERS] = ['KEN', 'DEU'];
const [FROM, TO] = [2020, 2022];

interface RecordedRequest {
  path: string;
  caller: 'anonymous' | 'owner' | 'penniless' | 'rejected';
}

const FREE_LISTS = ['/countries', '/indicators', '/topics', '/meta/freshness', '/meta/coverage'];

const INDICATOR_LISTS = [
  ...[`q=${WORDS}`, `topic=${TOPIC}`, `provider=${PROVIDER}`, 'featured=true', 'featured=0'],
  ...['projections=true', 'projections=false', 'limit=3', 'limit=3&offset=2', 'offset=1', 'limit=501'],
  ...['name', 'coverage', 'latest', 'topic', 'source'].flatMap((sort) =>
    ['', '&dir=asc', '&dir=desc'].map((dir) => `sort=${sort}${dir}`),
  ),
  ...['dir=desc', `q=${WORDS}&sort=name&dir=desc`, `q=${WORDS}&limit=1`, 'topic=none', 'q=zzzzz'],
  ...['sort=size', 'dir=up', 'limit=0', 'limit=x', 'offset=-1', 'featured=maybe'],
].map((query) => `/indicators?${query}`);

const [BY_REGION, BY_GROUP] = ['region=South%20Asia', 'income_group=High%20income'];
const FREE = [
  ...FREE_LISTS,
  ...[BY_REGION, BY_GROUP, `${BY_REGION}&${BY_GROUP}`, 'region=Atlantis'].map(
    (query) => `/countries?${query}`,
  ),
  ...INDICATOR_LISTS,
  ...[INDICATOR, DISPLAY_ONLY, 'none.such', INDICATOR.toUpperCase()].map((id) => `/indicators/${id}`),
];

const LISTED = `countries=${COUNTRY},${OTHERS.toLowerCase()}`;
const PRICED = [
  ...[COUNTRY, COUNTRY.toLowerCase(), 'ZZZ', 'x'].map((code) => `/countries/${code}`),
  ...[
    'featured=true',
    'featured=no',
    `topic=${TOPIC}`,
    `topic=${TOPIC}&featured=1`,
    'topic=none',
    'featured=x',
  ].map((query) => `/countries/${COUNTRY}?${query}`),
  ...['', '?year=latest', `?year=${FROM}`, '?year=1066', '?year=now'].map(
    (query) => `/rankings/${INDICATOR}${query}`,
  ),
  ...[UNRANKED, DISPLAY_ONLY, 'none.such'].map((id) => `/rankings/${id}`),
  `/data?indicator=${INDICATOR}`,
  ...[
    LISTED,
    `countries=%20${COUNTRY}%20,${OTHERS}`,
    `from=${FROM}`,
    `to=${TO}`,
    `${LISTED}&from=${FROM}&to=${TO}`,
  ].flatMap((query) =>
    ['', '&format=json', '&format=csv'].map((format) => `/data?indicator=${INDICATOR}&${query}${format}`),
  ),
  ...['countries=ZZZ', `from=${TO}&to=${FROM - 1}`, 'from=x', 'countries=', 'to=x'].map(
    (query) => `/data?indicator=${INDICATOR}&${query}`,
  ),
  ...['/data', '/data?indicator=none.such', `/data?indicator=${DISPLAY_ONLY}`],
  ...['/usage?days=0', '/usage?days=91', '/usage?days=x'],
];

/** In the order in which they are sent: usage counts those before it. */
export function specRequests(): RecordedRequest[] {
  const needKey = ['/ping', '/usage', `/countries/${COUNTRY}`, `/data?indicator=${INDICATOR}`];
  const under = (prefix: string, paths: string[], caller: RecordedRequest['caller']) =>
    paths.map((path) => ({ path: prefix + path, caller }));
  return [
    ...under('/v1', FREE, 'anonymous'),
    ...under('/v1', [...FREE_LISTS, `/indicators/${INDICATOR}`], 'owner'),
    ...under('/v1', PRICED, 'owner'),
    ...under('/v1', ['/ping', '/usage?days=1', '/usage?days=7', '/usage'], 'owner'),
    ...under('/v1', needKey, 'anonymous'),
    ...under('/v1', [...needKey, ...FREE_LISTS], 'rejected'),
    ...under('/v1', needKey, 'penniless'),
    ...under('/data/api/v1', [...FREE.slice(0, 8), ...needKey.slice(2)], 'owner'),
  ];
}
