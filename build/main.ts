/** The entry point of the build's command line, which is in `cli.ts`. */
import { run } from './cli.ts';

/** The first SIGINT or SIGTERM cancels the step; a second one ends the process. */
const controller = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => controller.abort(new Error(`stopped by ${signal}`)));
}
const { argv, env, stdout, stderr } = process;
process.exitCode = await run(argv.slice(2), { env, stdout, stderr, signal: controller.signal });
