/** Which files of the product a piece of work executes, by V8's precise coverage. */
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../style/repository.ts';

const BASE = pathToFileURL(join(ROOT, '/')).href;
const PRODUCT = /^(gateway|build|data|admin)\//;
/** What runs by chance, such as a timer, is not in every turn. */
const TURNS = 3;
/** Turns of the event loop in which the service ends its own part of a call that its client has read. */
const SETTLING = 20;

export class Coverage {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /**
   * Runs the work once to warm up, then some times. `prepare` runs unmeasured before each turn.
   * @returns the files that every measured turn executed, by name
   */
  async filesOf(
    work: (turn: number) => Promise<void>,
    prepare: () => Promise<void> = async () => {},
  ): Promise<string[]> {
    const turns: Set<string>[] = [];
    for (let turn = 0; turn <= TURNS; turn += 1) {
      await prepare();
      turns.push(await this.#executedBy(() => work(turn)));
    }
    const [, first = new Set(), ...others] = turns;
    return [...first].filter((path) => others.every((turn) => turn.has(path))).toSorted();
  }

  async #executedBy(work: () => Promise<void>): Promise<Set<string>> {
    await this.#session.post('Profiler.takePreciseCoverage'); // counts start at zero
    await work();
    for (let turn = 0; turn < SETTLING; turn += 1) await setImmediate();
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    // The function from offset 0 is the body of the module, which runs when it is imported.
    const executed = result.filter(({ functions }) =>
      functions.some(({ ranges: [range] }) => range && range.startOffset > 0 && range.count > 0),
    );
    return new Set(executed.map(({ url }) => url.replace(BASE, '')).filter((path) => PRODUCT.test(path)));
  }
}
