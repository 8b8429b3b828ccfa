/** Templates of the site. They are compiled once a process. */
import nunjucks from 'nunjucks';
import { TEMPLATE_FILTERS } from '../web/templates.ts';
import { ASSET_PATHS } from './assets.ts';
import { sparkline } from './charts/sparkline.ts';
import { dateText, figureElement, momentText, shareText, yearsText } from './figures.ts';
import { inlineMarkdown } from './markdown.ts';

/** The main navigation marks the section of a page. */
export type Section = 'indicators' | 'countries' | 'compare' | 'topics' | 'pricing' | 'docs' | 'none';

/** What the frame around a page needs. */
export interface LayoutData {
  title: string;
  description: string;
  section: Section;
  /** Absolute where the address of the service is known. */
  picture: string;
  canonical: string | null;
  /** Of the service, for examples. */
  address: string;
  /** JSON for a script element: no `<` ends it early. */
  structured: string | null;
  editionId: string;
  publishedAt: string;
}

const FOLDERS = [`${import.meta.dirname}/views`, `${import.meta.dirname}/../web/views`];

const FILTERS = {
  ...TEMPLATE_FILTERS,
  sparkline,
  dateText,
  figureElement,
  inlineMarkdown,
  momentText,
  shareText,
  yearsText,
};

/** @param folders with templates beside those of the site */
export function siteEnvironment(folders: readonly string[] = []): nunjucks.Environment {
  const environment = new nunjucks.Environment(new nunjucks.FileSystemLoader([...FOLDERS, ...folders]), {
    autoescape: true,
    throwOnUndefined: true,
    trimBlocks: true,
    lstripBlocks: true,
  });
  for (const [name, filter] of Object.entries(FILTERS)) environment.addFilter(name, filter);
  environment.addGlobal('assets', ASSET_PATHS);
  return environment;
}

const environment = siteEnvironment();

/** @param data must not repeat names of the layout */
export function renderTemplate(template: string, layout: LayoutData, data: object): string {
  return environment.render(template, { ...data, page: layout });
}

/** A template without a frame, or one whose frame needs no edition. */
export const renderPlain = (template: string, data: object): string => environment.render(template, data);
