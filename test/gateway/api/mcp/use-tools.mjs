/** Lists all that a server has and calls tools, with an official client for TypeScript. Prints what it got as JSON. */
const [modules, version, url, key, mode, calls] = process.argv.slice(2);

const requestInit = { headers: { authorization: `Bearer ${key}` } };
const identity = { name: 'almanac-test', version: '1' };

/** The former client has its parts in files of their own, and knows no revision without a handshake. */
async function open() {
  if (version === '1') {
    const sdk = `${modules}/@modelcontextprotocol/sdk/dist/esm/client`;
    const { Client } = await import(`${sdk}/index.js`);
    const { StreamableHTTPClientTransport } = await import(`${sdk}/streamableHttp.js`);
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
    const client = new Client(identity);
    await client.connect(transport);
    return { client, revision: transport.protocolVersion };
  }
  const { Client, StreamableHTTPClientTransport } = await import(
    `${modules}/@modelcontextprotocol/client/dist/index.mjs`
  );
  const client = new Client(identity, mode === '' ? {} : { versionNegotiation: { mode: { pin: mode } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return { client, revision: client.getNegotiatedProtocolVersion() };
}

const { client, revision } = await open();
const { tools } = await client.listTools();
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
const answers = {};
for (const [name, args] of Object.entries(JSON.parse(calls))) {
  const { structuredContent: structured, content } = await client.callTool({ name, arguments: args });
  answers[name] = { structured, text: content[0].text };
}
await client.close();
const told = {
  revision,
  tools: tools.map(({ name }) => name),
  resources: resources.length,
  prompts: prompts.length,
  answers,
};
process.stdout.write(JSON.stringify(told));
