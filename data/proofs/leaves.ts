/** The leaves of the trees, as canonical JSON. `docs/receipts.md` fixes them for ever. */
import { canonicalJson } from './verify-receipt.ts';

export interface ObservationLeaf {
  iso3: string;
  year: number;
  value: number | null;
  ci_lo: number | null;
  ci_hi: number | null;
  status: string | null;
  projected: boolean;
}

/** An upstream file from which figures of an indicator come. */
export interface SourceLeaf {
  url: string;
  sha256: string;
  bytes: number;
  fetched_at: string;
}

export interface Descriptor {
  indicator: string;
  unit: string | null;
  provider: string;
  sources: SourceLeaf[];
}

export interface IndicatorLeaf {
  indicator: string;
  rows: number;
  root: string;
}

/** The first members of an entry of the log. */
export interface EditionLeaf {
  edition: string;
  published_at: string;
  indicators: number;
  root: string;
  manifest: string;
}

/** Builds the text member by member: this runs for every row of a build. Names, codes and words need no escapes. */
export const observationLeaf = ({
  iso3,
  year,
  value,
  ci_lo,
  ci_hi,
  status,
  projected,
}: ObservationLeaf): string =>
  `{"ci_hi":${ci_hi},"ci_lo":${ci_lo},"iso3":"${iso3}","projected":${projected},` +
  `"status":${status === null ? null : `"${status}"`},"value":${value},"year":${year}}`;

/** Leaf 0 of an indicator's tree. Sources are ordered by url, then hash. */
export const descriptorLeaf = ({ indicator, unit, provider, sources }: Descriptor): string =>
  canonicalJson({ indicator, unit, provider, sources: sources.map((source) => ({ ...source })) });

export const indicatorLeaf = ({ indicator, rows, root }: IndicatorLeaf): string =>
  canonicalJson({ indicator, rows, root });

export const editionLeaf = ({ edition, published_at, indicators, root, manifest }: EditionLeaf): string =>
  canonicalJson({ edition, published_at, indicators, root, manifest });
