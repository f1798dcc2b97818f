/** The controls of a local venue move prices and accounts: no page of another origin reaches them. */
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVenueoneSim, type VenueoneSim } from "../../venueone/sim.js";

let sim: VenueoneSim;
let port = 0;

beforeAll(async () => {
  sim = await startVenueoneSim({ seed: 1, symbols: ["BTC"] });
  port = Number(new URL(sim.restUrl).port);
});

afterAll(() => sim.stop());

function ask(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, method, path, headers }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
    sent.once("error", reject);
    sent.end(method === "POST" ? '{"bps":-4000}' : undefined);
  });
}

describe("the controls of a local venue", () => {
  it("refuse a page of another origin, whatever it requests", async () => {
    for (const headers of [
      { origin: "https://page.example" },
      { origin: "null" },
      { origin: `http://127.0.0.1:${port + 1}` },
      { host: "page.example" },
      { host: `page.example:${port}` },
      { host: "127.0.0.1.page.example" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ] as Record<string, string>[]) {
      expect([headers, await ask("POST", "/_sim/skew", headers)]).toEqual([headers, 403]);
      expect([headers, await ask("GET", "/_sim/orders", headers)]).toEqual([headers, 403]);
      expect([headers, await ask("DELETE", "/_sim/faults", headers)]).toEqual([headers, 403]);
    }
    expect(await ask("GET", "/_sim/state", {})).toBe(200);
  });

  it("answer programs, and pages of their own", async () => {
    for (const headers of [
      {},
      { host: "localhost" },
      { host: `LOCALHOST:${port}` },
      { host: "[::1]:9" },
      { origin: `http://127.0.0.1:${port}`, "sec-fetch-site": "same-origin" },
      { "sec-fetch-site": "none" },
    ] as Record<string, string>[])
      expect([headers, await ask("GET", "/_sim/state", headers)]).toEqual([headers, 200]);
  });
});
