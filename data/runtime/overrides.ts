/** The operators' overrides of indicators as Redis stores them. Invalid entries are skipped, so that they cannot fail a build. */
import { type IndicatorOverride, indicatorOverride, type Overrides } from '../schema/overrides.ts';

/** @param stored JSON by indicator id. */
export function parseOverrides(stored: Readonly<Record<string, string>>): Overrides {
  const overrides = new Map<string, IndicatorOverride>();
  for (const [id, text] of Object.entries(stored)) {
    const parsed = indicatorOverride.safeParse(jsonOrNull(text));
    if (parsed.success) overrides.set(id, parsed.data);
  }
  return overrides;
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
