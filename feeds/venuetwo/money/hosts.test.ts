/** The venue's other hosts over real connections on loopback, on a virtual clock. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { HttpResult, VenueHttp } from "../../shared/net/http.js";
import { oneHost, otherHosts } from "./hosts.js";

const TIMEOUT_MS = 5_000;

async function stand() {
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === "/hangs") held.push(response);
    else response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clock = new VirtualClock();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hosts = otherHosts(oneHost(url), { clock, random: createSeededRandom(1), logger: silentLogger });
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await hosts.stop(0);
  });
  return { hosts, held, clock };
}

function call(http: VenueHttp, path: string): Promise<HttpResult> {
  return http.request({
    ...{ method: "POST", path, headers: {}, body: null, lane: "trade", weight: 1, timeoutMs: TIMEOUT_MS },
    ...{ account: null, accountWeight: 0 },
  });
}

describe("calls to the venue's other hosts", () => {
  it.each(["spotHttp", "webHttp"] as const)("at %s are not held up by one that hangs", async (host) => {
    const { hosts, held, clock } = await stand();
    const hanging = call(hosts[host], "/hangs");
    await expect.poll(() => held.length).toBe(1);
    let next: HttpResult | null = null;
    void call(hosts[host], "/answers").then((result) => (next = result));
    await expect.poll(() => next, { timeout: 10_000 }).toMatchObject({ kind: "response", status: 200 });
    await clock.advanceAsync(TIMEOUT_MS);
    expect(await hanging).toMatchObject({ kind: "noResponse" });
  });
});
