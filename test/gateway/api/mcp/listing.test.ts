/** What directories fetch: `server.json` for the registry of the protocol, and proofs of a domain by setting. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { buildApi } from '../../../../gateway/api/api.ts';
import { ICONS } from '../../../../gateway/site/assets.ts';
import { Service } from '../../service.ts';

/**
 * The rules of https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json for what we write, and that it is published
 * under a domain that the publisher proves (https://github.com/modelcontextprotocol/registry).
 */
const serverDetail = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z
    .string()
    .max(255)
    .regex(/^\d+\.\d+\.\d+$/),
  websiteUrl: z.url(),
  icons: z.array(
    z.strictObject({
      src: z.url({ protocol: /^https$/ }).max(255),
      mimeType: z.enum(['image/png', 'image/jpeg', 'image/jpg', 'image/svg+xml', 'image/webp']),
      sizes: z.array(z.string().regex(/^(\d+x\d+|any)$/)),
    }),
  ),
  remotes: z
    .array(z.strictObject({ type: z.literal('streamable-http'), url: z.string().regex(/^https:\/\/\S+$/) }))
    .length(1),
});

const build: typeof buildApi = (parts) =>
  buildApi({ ...parts, siteOf: () => ({ pages: [], errorPage: () => '', icons: ICONS }) });

async function fetched(settings: Record<string, string>, ...paths: string[]) {
  const service = await Service.start({ settings, build });
  const answers = [];
  for (const path of paths) answers.push(await service.get(path));
  await service.stop();
  return answers;
}

test('server.json keeps to the schema of the registry and names the address of the setting', async () => {
  const [answer] = await fetched({ PUBLIC_URL: 'https://data.example.org/' }, '/server.json');
  const listed = serverDetail.parse(answer?.json);
  expect(listed).toMatchObject({
    name: 'org.example.data/almanac',
    remotes: [{ url: 'https://data.example.org/mcp' }],
  });
  const { version } = JSON.parse(await readFile('package.json', 'utf8'));
  expect(listed.version).toBe(version);
  expect(listed.icons.map(({ src }) => new URL(src).origin)).toEqual(
    ICONS.map(() => 'https://data.example.org'),
  );
});

test.each(['http://data.example.org', 'https://192.0.2.1', 'https://[2001:db8::1]', ''])(
  'there is none where no directory reaches the service: “%s”',
  async (PUBLIC_URL) => {
    const [answer] = await fetched({ PUBLIC_URL }, '/server.json');
    expect(answer?.status).toBe(404);
  },
);

test('a directory finds the text of the setting under /.well-known/, exactly, and nothing else', async () => {
  const WELL_KNOWN = 'openai-apps-challenge=tok-en_1|mcp-registry-auth=v=MCPv1; k=ed25519; p=ab/c+d=';
  const paths = ['openai-apps-challenge', 'mcp-registry-auth', 'other'].map((name) => `/.well-known/${name}`);
  const [first, second, other] = await fetched({ WELL_KNOWN }, ...paths);
  expect(first).toMatchObject({ status: 200, text: 'tok-en_1' });
  expect(first?.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(second?.text).toBe('v=MCPv1; k=ed25519; p=ab/c+d=');
  expect(other?.status).toBe(404);
});
