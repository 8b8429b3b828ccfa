/** The whole service as a Fastify instance, made from its dependencies: the API, the site, the account pages and the operator area. */
import type { FastifyInstance } from 'fastify';
import type { AdminDependencies } from '../admin/context.ts';
import { registerAdmin } from '../admin/plugin.ts';
import type { CreditPack } from '../data/schema/curated.ts';
import { type ApiDependencies, buildApi } from './api/api.ts';
import { registerAccountPages } from './commerce/pages/plugin.ts';
import { salesFacts } from './commerce/sales-facts.ts';
import type { AccountService } from './commerce/service.ts';
import { ICONS, installAssets } from './site/assets.ts';
import { readAhead, renderErrorPage, serviceFacts, sitePages } from './site/site.ts';

export interface AppDependencies extends Omit<ApiDependencies, 'siteOf' | 'hasSignIn'> {
  /** Mounts the operator area. */
  admin?: AdminDependencies;
  /** Mounts the account pages. */
  account?: AccountService;
  /** Credits on sale; default those of the account pages. */
  packs?: readonly CreditPack[];
}

export function buildApp(dependencies: AppDependencies): FastifyInstance {
  const { settings, admin, account, packs = account?.packs ?? [] } = dependencies;
  const { statusRedis = account?.redis ?? null } = dependencies;
  const facts = serviceFacts(settings, packs, salesFacts(settings));
  const app = buildApi({
    ...dependencies,
    statusRedis,
    hasSignIn: account !== undefined,
    siteOf: (reference, status) => ({
      pages: sitePages(facts, reference, status),
      errorPage: renderErrorPage,
      icons: ICONS,
    }),
  });
  installAssets(app);
  app.addHook('onListen', async () => readAhead(dependencies.snapshots));
  if (admin) registerAdmin(app, admin);
  if (account) registerAccountPages(app, account, dependencies.snapshots);
  return app;
}
