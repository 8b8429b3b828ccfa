/** Worker thread: draws SVG documents as PNG, in the fonts of the installation, whatever the machine has. */
import { createRequire } from 'node:module';
import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { Resvg } from '@resvg/resvg-js';

const require = createRequire(import.meta.url);
const OPTIONS = {
  font: {
    loadSystemFonts: false,
    defaultFontFamily: 'Source Sans 3',
    fontFiles: [
      '@expo-google-fonts/source-sans-3/400Regular/SourceSans3_400Regular.ttf',
      '@expo-google-fonts/source-sans-3/600SemiBold/SourceSans3_600SemiBold.ttf',
      '@expo-google-fonts/gelasio/600SemiBold/Gelasio_600SemiBold.ttf',
    ].map((file) => require.resolve(file)),
  },
};

// On Linux a priority belongs to a thread: calls of the API come first wherever processors are short.
if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_LOW);

parentPort?.on('message', (svg: string) => {
  parentPort?.postMessage(new Resvg(svg, OPTIONS).render().asPng());
});
