/**
 * `npm run nights [-- options]` simulates thirty nights over the whole provider mirror, and compares what `as_of` answers
 * of each, after gc and a restart, with what was served then.
 *
 *   --nights N     default 30
 *   --seed N       default 2026
 *   --starter      the starter data instead of the mirror
 *   --everywhere   compares on a restored backup and on a gateway that follows an origin, too
 *
 * The mirror is that of the tests (see test/mirror.ts). Everything is written to a temporary directory.
 */
import { parseArgs } from 'node:util';
import { mirrorDirectory } from '../mirror.ts';
import { THIRTY_NIGHTS } from './events.ts';
import { Simulation } from './simulation.ts';
import { mirrorSite, type Nights, starterSite } from './sites.ts';

const { values } = parseArgs({
  options: {
    nights: { type: 'string', default: '30' },
    seed: { type: 'string', default: '2026' },
    starter: { type: 'boolean', default: false },
    everywhere: { type: 'boolean', default: false },
  },
});
const SHOWN = 20;
const say = (line: string): void => console.error(`nights: ${line}`);

/** The rows of every indicator on every night, and some of the other answers. */
const COMPARED = { kinds: ['date'], othersOneIn: 8, onNight: say } as const;

async function openSite(): Promise<Nights> {
  if (values.starter) return starterSite();
  const mirror = mirrorDirectory();
  if (mirror === null) throw new Error('there is no provider mirror: set PROVIDER_MIRROR');
  return mirrorSite(mirror);
}

const simulation = new Simulation(await openSite(), {
  seed: Number(values.seed),
  extent: { files: 20, figures: 25, oneFolder: true },
  events: THIRTY_NIGHTS,
});
try {
  await simulation.run(Number(values.nights), say);
  const { nights } = simulation;
  const editions = new Set(nights.map(({ edition }) => edition)).size;
  await simulation.collectGarbage();
  await simulation.startGateway();
  const found = await simulation.differences(COMPARED);
  if (values.everywhere) {
    say('on a restored backup');
    await simulation.restoreGateway();
    found.push(...(await simulation.differences(COMPARED)));
    say('following an origin');
    await simulation.followGateway();
    found.push(...(await simulation.differences(COMPARED)));
  }
  for (const line of found.slice(0, SHOWN)) console.log(line);
  console.log(
    `${nights.length} nights, ${editions} editions, ${simulation.compared} answers compared: ${found.length} differ`,
  );
  process.exitCode = found.length > 0 ? 1 : 0;
} finally {
  await simulation.remove();
}
