/** Worker thread: draws SVG documents as PNG, in the fonts of the installation, whatever the machine has. */
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { Resvg } from '@resvg/resvg-js';
import { serveJobs } from '../../../data/runtime/job-thread.ts';

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

serveJobs(constants.priority.PRIORITY_LOW, (svg: string) => new Resvg(svg, OPTIONS).render().asPng());
