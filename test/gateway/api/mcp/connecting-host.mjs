/**
 * A host that is given nothing but the address of a server, made of an official client for TypeScript. Each line that it
 * reads is a question; it prints where a person has to go, and the answer or why there is none.
 */
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [modules, version, url, clientMetadataUrl = ''] = process.argv.slice(2);
const IDENTITY = { name: 'Fact desk', version: '1' };

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

let comeBack = () => {};
const listener = createServer((request, response) => {
  response
    .setHeader('content-type', 'text/html')
    .end('<!doctype html><title>Host</title><h1>Back in the host</h1>');
  comeBack(new URL(request.url, 'http://127.0.0.1').searchParams);
});
await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
const redirectUrl = `http://127.0.0.1:${listener.address().port}/callback`;

/** What a host keeps of a server, and where it sends a person. */
function provider() {
  const kept = {};
  return {
    kept,
    redirectUrl,
    ...(clientMetadataUrl !== '' && { clientMetadataUrl }),
    clientMetadata: {
      client_name: IDENTITY.name,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'state-of-the-host',
    clientInformation: () => kept.client,
    saveClientInformation: (client) => {
      kept.client = client;
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      kept.tokens = tokens;
    },
    invalidateCredentials: (kind) => {
      if (kind === 'tokens' || kind === 'all') kept.tokens = undefined;
    },
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (discovery) => {
      kept.discovery = discovery;
    },
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => {
      kept.verifier = verifier;
    },
    redirectToAuthorization: (open) => say({ open: String(open) }),
  };
}

/** The former client has its parts in files of their own, and knows no revision without a handshake. */
async function load() {
  if (version === '1') {
    const sdk = `${modules}/@modelcontextprotocol/sdk/dist/esm/client`;
    const { Client } = await import(`${sdk}/index.js`);
    return {
      ...(await import(`${sdk}/streamableHttp.js`)),
      ...(await import(`${sdk}/auth.js`)),
      make: () => new Client(IDENTITY),
    };
  }
  const library = await import(`${modules}/@modelcontextprotocol/client/dist/index.mjs`);
  const newest = { versionNegotiation: { mode: { pin: '2026-07-28' } } };
  return { ...library, make: () => new library.Client(IDENTITY, newest) };
}

const { StreamableHTTPClientTransport, UnauthorizedError, make } = await load();
const authProvider = provider();
const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
const client = make();

/** Does it again once a person has been sent to the server, and back. */
async function allowed(work) {
  const back = new Promise((resolve) => {
    comeBack = resolve;
  });
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const came = await back;
    if (came.has('error')) throw new Error(came.get('error'));
    if (came.get('state') !== 'state-of-the-host') throw new Error('another state');
    await (version === '1' ? transport.finishAuth(came.get('code')) : transport.finishAuth(came));
    return work();
  }
}

await allowed(() => client.connect(transport));
say({ connected: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion });
for await (const line of createInterface({ input: process.stdin })) {
  const { name, args } = JSON.parse(line);
  const before = authProvider.kept.tokens?.refresh_token;
  try {
    const { structuredContent, isError = false } = await allowed(() =>
      client.callTool({ name, arguments: args }),
    );
    const { tokens, client: known } = authProvider.kept;
    say({
      answer: structuredContent,
      isError,
      tokens,
      isRefreshed: before !== tokens?.refresh_token,
      client_id: known?.client_id,
    });
  } catch (error) {
    say({ failed: error.message });
  }
}
await client.close();
listener.close();
