/** Tools of MCP are asked for more than an answer holds: nothing that is left out is paid, and further pages give it once. */
import { payLongAnswers } from '../gateway/api/mcp/long-answers.ts';
import type { Reporter } from './table.ts';

export async function toolsFaults(report: Reporter, { calls } = { calls: 2_000 }): Promise<void> {
  const { given, charged, cut } = await payLongAnswers(calls);
  const tools = [...cut].map(([tool, times]) => `${times} of ${tool}`);
  report(
    'A call of a tool costs what its answer holds, also where the answer is cut',
    `${calls} calls, ${given} figures and verdicts, ${charged} credits; several pages: ${tools.join(', ')}`,
    ['compare_countries', 'get_data', 'rank_countries'].every((tool) => cut.has(tool)),
  );
}
