/** The proxy that tests of money stop requests with: what it parks, loses and answers, and what passes as it came. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { privateKeyToAccount } from "viem/accounts";
import { HoldingProxy } from "./holding-proxy.js";

let target: Server;
let proxy: HoldingProxy;
const heard: string[] = [];

beforeEach(async () => {
  heard.length = 0;
  target = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      heard.push(`${request.method} ${request.url} ${body}`);
      response.writeHead(201, { "x-of": "target" }).end(`re ${body}`);
    });
  });
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  proxy = await HoldingProxy.start(`http://127.0.0.1:${(target.address() as AddressInfo).port}`);
});
afterEach(async () => {
  await proxy.stop();
  target.closeAllConnections();
  await new Promise((resolve) => target.close(resolve));
});

const post = async (path: string, body: string): Promise<readonly unknown[]> => {
  const reply = await fetch(`${proxy.url}${path}`, { method: "POST", body });
  return [reply.status, reply.headers.get("x-of"), await reply.text()];
};
/** Null: cut. */
const tried = (path: string, body: string) => post(path, body).catch(() => null);

describe("a request", () => {
  it("that no rule fits passes as it came", async () => {
    proxy.add({ kind: "away" }, ({ route }) => route === "POST /other");
    expect(await post("/a?b=c", "text")).toEqual([201, "target", "re text"]);
    expect(heard).toEqual(["POST /a?b=c text"]);
  });

  it("that is held has not arrived, and does once it is released", async () => {
    const hold = proxy.add({ kind: "hold" }, ({ text }) => text.includes("mine"));
    const reply = post("/a", "MINE");
    expect((await hold.arrived).route).toBe("POST /a");
    expect([heard, hold.count]).toEqual([[], 1]);
    hold.release();
    expect(await reply).toEqual([201, "target", "re MINE"]);
    expect(await post("/a", "MINE")).toEqual([201, "target", "re MINE"]);
    expect(hold.count).toBe(1);
  });

  it("that is held and dropped never arrives", async () => {
    const hold = proxy.add({ kind: "hold" }, () => true);
    const reply = tried("/a", "x");
    await hold.arrived;
    proxy.clear();
    expect([await reply, heard]).toEqual([null, []]);
  });

  it("whose reply is held has arrived", async () => {
    const hold = proxy.add({ kind: "reply" }, () => true);
    const reply = post("/a", "x");
    await hold.arrived;
    expect(heard).toEqual(["POST /a x"]);
    hold.release();
    expect(await reply).toEqual([201, "target", "re x"]);
  });

  it("is cut with and without having arrived, and the newest rule decides", async () => {
    proxy.add({ kind: "lost" }, () => true);
    expect([await tried("/a", "x"), heard]).toEqual([null, ["POST /a x"]]);
    proxy.add({ kind: "away" }, () => true);
    expect([await tried("/a", "y"), heard.length]).toEqual([null, 1]);
  });

  it("is answered by the rule, with what the other side said at hand", async () => {
    const answer = async (real: () => Promise<{ readonly body: string }>) => ({
      status: 202,
      body: (await real()).body.toUpperCase(),
    });
    proxy.add({ kind: "answer", answer }, () => true);
    expect(await post("/a", "x")).toEqual([202, null, "RE X"]);
  });

  it("that hands a transaction to a chain shows whose it is, and its nonce", async () => {
    const account = privateKeyToAccount(`0x${"51".repeat(32)}`);
    const raw = await account.signTransaction({
      ...{ type: "eip1559", chainId: 56, nonce: 7, gas: 21_000n, to: account.address },
      ...{ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
    });
    const hold = proxy.add({ kind: "away" }, ({ method }) => method === "eth_sendRawTransaction");
    const call = { jsonrpc: "2.0", id: 1, method: "eth_sendRawTransaction", params: [raw] };
    await tried("/", JSON.stringify(call));
    const { transaction } = await hold.arrived;
    expect(transaction).toMatchObject({ from: account.address.toLowerCase(), nonce: 7 });
  });
});
