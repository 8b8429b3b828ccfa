/** Every tool, in the order in which they are listed: from finding to checking; then those that hosts for research know. */
import type { Tool } from '../tool.ts';
import { compareCountriesTool } from './compare-countries.ts';
import { countryProfileTool } from './country-profile.ts';
import { describeIndicatorTool } from './describe-indicator.ts';
import { fetchTool } from './fetch.ts';
import { findIndicatorsTool } from './find-indicators.ts';
import { getDataTool } from './get-data.ts';
import { rankCountriesTool } from './rank-countries.ts';
import { searchTool } from './search.ts';
import { verifyClaimsTool } from './verify-claims.ts';

export const TOOLS: readonly Tool[] = [
  findIndicatorsTool,
  describeIndicatorTool,
  getDataTool,
  rankCountriesTool,
  compareCountriesTool,
  countryProfileTool,
  verifyClaimsTool,
  searchTool,
  fetchTool,
];
