/** What the protocol's own project publishes, in the versions that tests use. */

/** Client of version 2, and of version 1. */
export const NODE_CLIENTS = ['@modelcontextprotocol/client@2.4.0', '@modelcontextprotocol/sdk@1.32.2'];
export const PYTHON_CLIENTS = ['mcp==2.3.0'];
export const CONFORMANCE = ['@modelcontextprotocol/conformance@0.2.0-alpha.12'];
/** The program of the suite, in the `node_modules` where it is installed. */
export const CONFORMANCE_PROGRAM = '@modelcontextprotocol/conformance/dist/index.js';
