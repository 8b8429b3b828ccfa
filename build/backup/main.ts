/** Starts the command line of backup and restore; `cli.ts` says what it does. */
import { exitOnSignals } from '../../data/runtime/stop-signals.ts';
import { run } from './cli.ts';

exitOnSignals();
const { argv, env, stdout, stderr } = process;
process.exitCode = await run(argv.slice(2), { env, stdout, stderr });
