/** A small set of curated data that is right, so that a test can put one thing wrong. */
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CuratedError, loadCurated } from '../../data/curated/curated.ts';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';

const SPINE_HEADER =
  'iso3,iso2,m49,name,official_name,region,subregion,income_group,wb_code,capital,wikidata_id,flag_emoji,enabled';

export const SMALL: Readonly<Record<string, string>> = {
  'countries.csv': [
    SPINE_HEADER,
    'CIV,CI,384,Côte d’Ivoire,Republic of Côte d’Ivoire,Sub-Saharan Africa,Sub-Saharan Africa,Lower middle income,,Yamoussoukro,Q1008,🇨🇮,true',
    'NAM,NA,516,Namibia,Republic of Namibia,Sub-Saharan Africa,Sub-Saharan Africa,Upper middle income,,Windhoek,Q1030,🇳🇦,true',
    'XKX,XK,,Kosovo,,Europe & Central Asia,,Upper middle income,,Pristina,Q1246,🇽🇰,true',
    '',
  ].join('\n'),
  'topics.yaml': TOPIC_SLUGS.map(
    (slug) => `- { slug: ${slug}, name: A name, description: A sentence. }\n`,
  ).join(''),
  'places.csv': [
    'scheme,code,iso3,kind,note',
    'atlas,kos,XKX,,',
    'atlas,world,,aggregate,everybody',
    'atlas,sfr,,historical,',
    'names,Ivory Coast,CIV,,',
    '',
  ].join('\n'),
  'providers/atlas.yaml': [
    'id: atlas',
    'name: The Atlas',
    'licence: CC BY 4.0',
    'licence_url: https://creativecommons.org/licenses/by/4.0/',
    'attribution: The Atlas',
    'redistributable: true',
    'access_tier: open',
    'connector: ddf',
    'places: [iso3, atlas]',
    'default_topic: economy',
    'rules:',
    '  - slug: ^energy_',
    '    set: { topic: energy, unit: kWh }',
    '  - tag: ^power$',
    '    set: { topic: environment, higher_is_better: false }',
    'indicators:',
    '  energy_use: { unit: MWh, order: 3 }',
    'origin: https://atlas.example/',
    '',
  ].join('\n'),
  'overlay/atlas.csv': [
    'slug,topic,higher_is_better,order,featured,projected_from,ci_level,description',
    'energy_use,,none,7,true,2024,0.9,"Use, all of it"',
    'gdp,economy,true,,,,,',
    'output,,,,,2020,,',
    '',
  ].join('\n'),
  'concepts.csv': [
    'id,name,topic,higher_is_better,preferred,projected_from',
    'product,Gross domestic product,economy,true,atlas.gdp,2025',
    '',
  ].join('\n'),
  'concept-series.csv': [
    'concept,indicator,factor,deviates,reason',
    'product,atlas.output,1000,projected_from figures,An edition of 2019',
    'product,atlas.gdp,,,',
    '',
  ].join('\n'),
  'collectors.csv': [
    'id,name,redistributable,licence,licence_url,looked_up,reason,names,urls',
    'bureau,The Bureau,no,Terms,https://bureau.example/terms,2026-11-22,All rights reserved.,Bureau,bureau.example',
    '',
  ].join('\n'),
  'measures.csv': [
    'subject,name,unit,measure,scale,aggregate,weight,per_head,reason',
    'product,,,amount,,sum,,atlas.people,Money.',
    'atlas.output,,,amount,9,sum,,,Another edition.',
    ',price,%,growth,,none,,,A rate of growth.',
    ',,% of GDP,rate,,mean,product,,By GDP.',
    '',
  ].join('\n'),
  'territories.csv': [
    'provider,parent,child,from,to,contained,source',
    '*,XKX,CIV,,,,Nobody knows.',
    'atlas,XKX,CIV,,1999,yes,The Atlas says so.',
    'atlas.output,XKX,CIV,2000,,no,It says otherwise of output.',
    '',
  ].join('\n'),
  'links.csv': 'from,to,relation\natlas.gdp,atlas.energy_use,drives\n',
  'aliases.csv':
    'old,new,since,until\natlas.old,atlas.gdp,2026-11-20,2027-11-20\nglobe.older,atlas.gdp,2026-11-20,\n',
  'quality-decisions.csv':
    'kind,subject,other,extent,decision,by,on,reason\nshare_out_of_range,atlas.gdp,,7,accept,ada,2026-11-20,Right so.\n',
  'packs.yaml': [
    '- { id: large, name: Large, credits: 5000, price_minor: 2000, currency: EUR }',
    '- { id: small, name: Small, credits: 1000, price_minor: 500, currency: EUR }',
    '',
  ].join('\n'),
};

/** Writes the files to a directory of their own, gives it to the function, and removes it. */
export async function withFiles<T>(
  files: Readonly<Record<string, string>>,
  use: (dir: string) => Promise<T>,
): Promise<T> {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'curated-'));
  for (const [name, text] of Object.entries(files)) {
    const file = join(directory.path, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return await use(directory.path);
}

/** The problems that loading these files tells, with paths relative to the directory; none when it loads. */
export function problemsOf(files: Readonly<Record<string, string>>): Promise<string[]> {
  return withFiles(files, async (dir) => {
    try {
      await loadCurated(dir);
      return [];
    } catch (error) {
      if (!(error instanceof CuratedError)) throw error;
      return error.problems.map((problem) => problem.replaceAll(`${dir}/`, ''));
    }
  });
}

/** One thing put wrong: a text of one file replaced by another, or (`to` alone) the whole file. */
export interface Fault {
  file: string;
  from?: string | undefined;
  to: string;
}

/** The files with faults in them. Throws when a fault does not apply, so that no test passes on right data. */
export function spoil(faults: readonly Fault[]): Record<string, string> {
  const files = { ...SMALL };
  for (const { file, from, to } of faults) {
    const before = files[file] ?? '';
    const after = from === undefined ? to : before.replace(from, to);
    if (after === before) throw new Error(`${file} does not hold ${from}`);
    files[file] = after;
  }
  return files;
}
