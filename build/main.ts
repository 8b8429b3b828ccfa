/** The entry point of the build's command line, which is in `cli.ts`. */
import { stopSignal } from '../data/runtime/stop-signals.ts';
import { run } from './cli.ts';

/** The first SIGINT, SIGTERM or SIGHUP cancels the step; a second one ends the process. */
const signal = stopSignal();
const { argv, env, stdout, stderr } = process;
process.exitCode = await run(argv.slice(2), { env, stdout, stderr, signal });
