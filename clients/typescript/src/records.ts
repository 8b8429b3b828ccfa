/** Records of the service, as its description names and types them. The served reference describes each member. */
import type { components } from './api.ts';

type Schemas = components['schemas'];

/** An indicator of the catalogue. `access_tier`: `display` for one that may be shown but not exported. */
export type Indicator = Schemas['Indicator'];
/** An indicator with related ones, and what `include` adds. */
export type IndicatorDetail = Schemas['IndicatorDetail'];
/** A series found by words. `match`: `good` if it was asked for, `weak` if it is only close. `why`: what it was found by. */
export type Hit = Schemas['SearchAnswer']['data'][number];
export type SearchMeta = Schemas['SearchAnswer']['meta'];
/**
 * Series found by words, best first. `match`: that of the first, or `none`. `places`, `groups`, `years`: named in the words,
 * and not searched for. `nearest`: where nothing is found, the known words that are spelt most like those asked for.
 */
export type Found = SearchMeta & { hits: Hit[] };
/** A country with its latest value of every indicator, by topic. */
export type Country = Schemas['CountryDetail'];
/** A country, without figures. */
export type CountryRecord = Schemas['ListCountriesAnswer']['data'][number];
/** A group of countries: `@` and its id stands for its members wherever countries are asked for. */
export type Group = Schemas['ListGroupsAnswer']['data'][number];
/** A topic of the catalogue, with how many indicators it has. */
export type Topic = Schemas['ListTopicsAnswer']['data'][number];
/** A feed link with its use. */
export type Feed = Schemas['ListFeedsAnswer']['data'][number];
/** A new feed link. `url` is shown once: whoever has it gets the figures. */
export type MadeFeed = Schemas['CreateFeedAnswer']['data'];
/** A published snapshot. */
export type Edition = Schemas['ListEditionsAnswer']['data'][number];
/** What a snapshot changed. `revised`: numbers of figures by indicator and kind. */
export type Change = Schemas['ListChangesAnswer']['data'][number];
export type ChangesMeta = Schemas['ListChangesAnswer']['meta'];
/** How a claim stands against the figure held. `docs/claims.md` of Almanac lists verdicts and reasons. */
export type Verdict = Schemas['VerifyClaimsAnswer']['data'][number];
/** What a call would cost. `balance_after` may be negative. */
export type Price = Schemas['DryRunAnswer']['data'];
export type ValidationDetail = Schemas['ValidationDetail'];

/** A figure of one country and year, with its indicator. */
export type Observation = Schemas['SeveralIndicatorsAnswer']['data'][number];
/** A figure of a country, or with `aggregate` or `group` of a group: `iso3` is null then, and `group` is `@` and its id, or codes. */
export type GroupRow = Required<
  Extract<Schemas['GroupsAnswer']['data'][number], { group: string | null; year: number }>
>;
/** With `names`: what the country or the group is called. */
export interface Named {
  name: string;
}
/** A country and year with a figure for each indicator, under its id. */
export type WideRow = Schemas['WideAnswer']['data'][number];
/** Every column that `fields` can name. */
export type ChosenRow = Required<Schemas['ChosenColumnsAnswer']['data'][number]>;
/** A row of `data` whose options are not known beforehand. */
export type AnyRow = Observation | GroupRow | WideRow | Partial<ChosenRow>;
export type RankingRow = Schemas['GetRankingAnswer']['data'][number];
/** One change of a figure, with its indicator. */
export type Revision = { indicator: string } & Schemas['GetRevisionsAnswer']['data'][number];

export type DataMeta = Schemas['GetDataAnswer']['meta'];
export type RankingMeta = Schemas['GetRankingAnswer']['meta'];
export type RevisionsMeta = Schemas['GetRevisionsAnswer']['meta'];
