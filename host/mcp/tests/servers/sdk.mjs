// A server written with the TypeScript SDK; its argument is the folder that holds node_modules.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = await load("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = await load("zod");

const server = new McpServer({ name: "node", version: "1.0.0" });
server.registerTool(
  "add",
  {
    description: "Adds two numbers.",
    inputSchema: { a: z.number(), b: z.number() },
    annotations: { readOnlyHint: true },
  },
  async ({ a, b }) => ({ content: [{ type: "text", text: `${a + b} 日本` }] }),
);
server.registerTool("fail", { description: "Fails.", inputSchema: {} }, async () => {
  throw new Error("it cannot be done");
});
await server.connect(new StdioServerTransport());
