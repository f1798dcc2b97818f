/** Without wrk, autocannon drives the same load. The server's own count judges the figures. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { loadTool } from "./http-load.js";

const server = createServer((request, response) => {
  seen.push(`${request.method} ${request.headers["content-type"] ?? ""}`);
  request.resume();
  request.on("end", () => response.writeHead(request.url === "/no" ? 400 : 200).end("{}"));
});
const seen: string[] = [];
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

describe("a load without wrk", () => {
  it("is autocannon's, with the same figures", async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const tool = loadTool(false);
    expect(tool.name).toBe("autocannon");
    const done = await tool.run({ url, connections: 2, seconds: 1, body: "{}" });
    expect(done.requestsPerSecond).toBeGreaterThan(0);
    expect([done.non2xxCount, done.socketErrorCount]).toEqual([0, 0]);
    expect(new Set(seen)).toEqual(new Set(["POST application/json"]));
    const refused = await tool.run({ url: `${url}/no`, connections: 1, seconds: 1 });
    expect(refused.non2xxCount).toBeGreaterThan(0);
    expect(seen.at(-1)).toBe("GET ");
  });
});
