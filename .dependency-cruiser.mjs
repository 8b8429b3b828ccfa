/**
 * Import rules of the repository. Type-only imports count. `@swc/core` parses: TypeScript 7 has no parser for JavaScript.
 */
import visitors from '@swc/core/Visitor.js';

// The visitor of swc rejects `using` declarations. They hold no import.
const { visitStatement } = visitors.Visitor.prototype;
visitors.Visitor.prototype.visitStatement = function (statement) {
  return statement.type === 'UsingDeclaration' ? statement : visitStatement.call(this, statement);
};

const PRODUCT = '^(build|gateway|data|admin)/';

/** Programs and worker threads: nothing imports them. */
const ENTRY_POINTS = `^(${[
  'admin/main.ts',
  'build/backup/main.ts',
  'build/main.ts',
  'build/setup.mjs',
  'build/worker.ts',
  'data/proofs/verify-command.ts',
  'admin/cli.ts',
  'gateway/api/http/openapi/openapi.ts',
  'gateway/main.ts',
  'gateway/commerce/orders/invoice-thread.ts',
  'gateway/commerce/people/password-thread.ts',
  'gateway/site/charts/png-thread.ts',
  'gateway/site/island.js', // loaded by the browser, as the next
  'gateway/site/crosshair.js',
  'gateway/site/time.js',
].join('|')})$`;

/** A room's doors: the only files of it that other rooms import. Each opens with what the room guarantees. */
const DOORS = {
  'build/archive': ['run-archive.ts'],
  'build/backup': ['main.ts'],
  'build/connectors': ['connector.ts', 'guess-source.ts', 'registry.ts'],
  'build/editions': ['editions.ts', 'plan/plan-snapshot.ts', 'push/push-s3.ts'], // the last is loaded by a push alone
  'build/ingest': ['ingest.ts'],
  'build/inspect': ['inspect.ts'],
  'build/jobs': ['jobs.ts'],
  'build/lake': ['lake.ts'],
  'build/quality': ['quality.ts'],
  'build/upstream': ['open-upstream.ts', 'upstream.ts'],
  'gateway/api/core': ['execute.ts', 'errors.ts'],
  'gateway/api/encoders': ['encoders.ts'],
  'gateway/api/http': ['http.ts', 'server/metrics.ts'], // the second for a primary process, which serves no requests
  'gateway/api/mcp': ['mcp.ts'],
  'gateway/api/metering': ['metering.ts'],
  'gateway/api/operations': ['operations.ts'],
  'gateway/api/snapshot': ['snapshot.ts'],
  'gateway/api/status': ['status.ts'],
  'gateway/commerce/accounts': ['accounts.ts'],
  'gateway/commerce/cli': ['commands.ts'],
  'gateway/commerce/connections': ['connections.ts'],
  'gateway/commerce/history': ['history.ts'],
  'gateway/commerce/notifications': ['notifications.ts'],
  'gateway/commerce/orders': ['orders.ts'],
  'gateway/commerce/pages': ['plugin.ts'],
  'gateway/commerce/people': ['people.ts'],
  'gateway/commerce/privacy': ['privacy.ts'],
  'gateway/commerce/store': ['store.ts'],
  'gateway/site': ['assets.ts', 'site.ts'],
  'gateway/web': ['forms.ts', 'templates.ts'],
};

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

export default {
  forbidden: [
    forbid('no-cycles', 'Modules form no cycle.', {}, { circular: true }),
    forbid(
      'operations-know-no-adapter',
      'Operations, encoders and snapshots know neither transport nor metering.',
      { path: '^gateway/api/(operations|encoders|snapshot)/' },
      { path: '^gateway/api/(http|mcp|metering)/' },
    ),
    forbid(
      'adapters-are-apart',
      'HTTP and MCP never import each other.',
      { path: '^gateway/api/(http|mcp)/' },
      { path: '^gateway/api/(http|mcp)/', pathNot: '^gateway/api/$1/' },
    ),
    forbid(
      'api-is-alone',
      'The metering gateway knows neither the site nor the commerce around it.',
      { path: '^gateway/api/' },
      { path: '^(admin|gateway/(site|commerce|web|process|app|main))' },
    ),
    forbid(
      'web-knows-no-room',
      'What all HTML shares knows none of the rooms that use it.',
      { path: '^gateway/web/' },
      { path: '^(admin|gateway/(site|commerce|process|app|main))' },
    ),
    forbid(
      'site-knows-no-commerce',
      'Public pages need no accounts.',
      { path: '^gateway/site/' },
      { path: '^gateway/(commerce|process|app|main)' },
    ),
    forbid(
      'composition-root-knows-admin',
      'Only the composition root knows the operator area.',
      { path: '^gateway/', pathNot: '^gateway/(app|process/server-process)\\.ts$' },
      { path: '^admin/' },
    ),
    forbid(
      'build-is-apart',
      'The build and the gateway meet only in data/.',
      { path: '^build/' },
      { path: '^(gateway|admin)/' },
    ),
    forbid(
      'gateway-is-apart',
      'The gateway and the build meet only in data/.',
      { path: '^gateway/' },
      { path: '^build/' },
    ),
    forbid(
      'admin-knows-no-build',
      'The operator area may import gateway/ and data/.',
      { path: '^admin/' },
      { path: '^build/' },
    ),
    forbid(
      'data-knows-nobody',
      'data/ imports none of the others.',
      { path: '^data/' },
      { path: '^(build|gateway|admin)/' },
    ),
    forbid(
      'product-knows-no-test',
      'The product never imports a test.',
      { path: PRODUCT },
      { path: '^test/' },
    ),
    ...Object.entries(DOORS).map(([room, doors]) =>
      forbid(
        `doors-of-${room.replaceAll('/', '-')}`,
        'A room is imported through its door.',
        { path: PRODUCT, pathNot: `^${room}/` },
        { path: `^${room}/`, pathNot: `^${room}/(${doors.join('|').replaceAll('.', '[.]')})$` },
      ),
    ),
    forbid('no-broken-import', 'Every import resolves.', {}, { couldNotResolve: true }),
    forbid(
      'no-dead-module',
      'Every module of the product is reachable from an entry point, but for declarations of types.',
      { path: ENTRY_POINTS },
      { path: PRODUCT, pathNot: [ENTRY_POINTS, '\\.d\\.ts$'], reachable: false },
    ),
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // A program over modules that its test generates.
    exclude: { path: 'node_modules|^test/gateway/clients/typescript/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node'] },
  },
};
