/**
 * No page of another origin reaches a route: neither under its own name (DNS rebinding), nor with a simple request, nor
 * over the socket. Programs, which send no Origin, are not asked.
 */
import { networkInterfaces } from "node:os";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { OPERATIONS } from "../../schemas/operations.js";
import type { Operation } from "../../schemas/operation.js";
import { type Harness, type HarnessOptions, startHarness } from "./harness.js";
import { TestWallets } from "./test-wallets.js";
import { buildClient } from "./dashboard-build.js";
import { createFakeDesk } from "./fake-desk.js";
import { createFakeMoneyDesk } from "./fake-money-desk.js";
import { tradingWith } from "./fake-trading.js";

let harness: Harness | null = null;

afterEach(async () => {
  await harness?.stop();
  harness = null;
});

async function start(options: HarnessOptions = {}): Promise<Harness> {
  const wallets = { provider: new TestWallets(), appendAct: async () => {} };
  const accounts = { trading: tradingWith(createFakeDesk()), money: createFakeMoneyDesk() };
  harness = await startHarness({ ...accounts, wallets, registrars: new Map(), ...options });
  return harness;
}

/** Asked by load balancers and supervisors under any name. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/health", "/ready"]);

const SAMPLES: Readonly<Record<string, string>> = { symbol: "BTC", exchange: "venueone" };

function pathOf({ path }: Operation): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => SAMPLES[name] ?? "1");
}

const ROUTES = Object.values<Operation>(OPERATIONS);

async function codeOf(
  { client }: Harness,
  method: Operation["method"],
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '{"symbol":"BTC"}',
): Promise<string> {
  const hasBody = method === "POST" || method === "PATCH";
  const reply = await client.send(path, {
    method,
    headers: hasBody ? { "content-type": "application/json", ...headers } : headers,
    ...(hasBody ? { body } : {}),
  });
  return `${reply.status} ${(reply.body as { code?: string } | null)?.code ?? ""}`.trim();
}

describe("pages of another origin", () => {
  it("reach no route with their Origin, and none under a name that is not ours", async () => {
    const running = await start();
    for (const operation of ROUTES) {
      const path = pathOf(operation);
      const open = OPEN_PATHS.has(operation.path);
      const foreign = await codeOf(running, operation.method, path, { origin: "https://page.example" });
      expect([operation.path, foreign === "403 FOREIGN_ORIGIN"]).toEqual([operation.path, !open]);
      const rebound = await codeOf(running, operation.method, path, { host: "page.example" });
      expect([operation.path, rebound === "421 FOREIGN_HOST"]).toEqual([operation.path, !open]);
    }
    const outside = await running.client.send("/nothing", {
      outside: true,
      headers: { origin: "https://page.example" },
    });
    expect(outside.status).toBe(403);
  });

  it("are those of null, of another port or scheme of this machine, and of no form", async () => {
    const running = await start();
    const { port } = running.server;
    const answers: Record<string, string> = {};
    for (const origin of [
      "null",
      `http://127.0.0.1:${port + 1}`,
      "http://127.0.0.1",
      `https://127.0.0.1:${port}`,
      `http://localhost:${port}`,
      `http://127.0.0.1:${port}.page.example`,
      `http://127.0.0.1:${port}/`,
      "file://",
    ])
      answers[origin] = await codeOf(running, "GET", "/api/time", { origin });
    expect(new Set(Object.values(answers))).toEqual(new Set(["403 FOREIGN_ORIGIN"]));
    expect(await codeOf(running, "GET", "/api/time", { origin: `http://127.0.0.1:${port}` })).toBe("200");
    expect(
      await codeOf(running, "GET", "/api/time", { host: `localhost:${port}`, origin: `http://localhost:${port}` }),
    ).toBe("200");
  });

  it("cannot ask without an Origin either: an image or a script of theirs is marked by the browser", async () => {
    const running = await start();
    const site = (fetchSite: string, more = {}) =>
      codeOf(running, "GET", "/api/trading/ticker/BTC", { "sec-fetch-site": fetchSite, ...more });
    expect(await site("cross-site")).toBe("403 FOREIGN_ORIGIN");
    expect(await site("same-site")).toBe("403 FOREIGN_ORIGIN");
    expect(await site("same-origin")).toBe("200");
    expect(await site("none")).toBe("200");
    // A link that somebody followed.
    expect(await site("cross-site", { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" })).toBe("200");
    expect(await site("cross-site", { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" })).toBe(
      "403 FOREIGN_ORIGIN",
    );
  });

  it("cost their address nothing", async () => {
    const rule = { perSecond: 0.1, burst: 3 };
    const running = await start({
      server: { rateLimits: { read: rule, trade: rule, exit: rule, transfer: rule, anon: rule } },
    });
    for (let count = 0; count < 10; count++)
      expect(await codeOf(running, "GET", "/api/time", { origin: "https://page.example" })).toBe("403 FOREIGN_ORIGIN");
    expect(await codeOf(running, "GET", "/api/time", {})).toBe("200");
  });

  it("starve nobody over what any page may ask: they and other names pay for themselves", async () => {
    const rule = { perSecond: 0.001, burst: 3 };
    const running = await start({
      server: { rateLimits: { read: rule, trade: rule, exit: rule, transfer: rule, anon: rule } },
    });
    const strangers: Record<string, string>[] = [
      { origin: "https://page.example" },
      { "sec-fetch-site": "cross-site" },
      { host: "page.example" },
    ];
    for (const headers of strangers)
      for (let count = 0; count < 5; count++) await codeOf(running, "GET", "/health", headers);
    for (const headers of strangers) expect(await codeOf(running, "GET", "/health", headers)).toBe("429 RATE_LIMITED");
    for (const path of ["/health", "/api/time", "/api/limits"])
      expect([path, await codeOf(running, "GET", path, {})]).toEqual([path, "200"]);
    expect(await codeOf(running, "GET", "/health", {})).toBe("429 RATE_LIMITED");
  });

  it("open no stream", async () => {
    const { server } = await start();
    const upgrade = (headers: Record<string, string>) =>
      new Promise<number>((resolve) => {
        const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`, { headers });
        socket.once("open", () => {
          socket.terminate();
          resolve(101);
        });
        socket.once("unexpected-response", (_, response) => {
          response.destroy();
          resolve(response.statusCode ?? 0);
        });
        socket.on("error", () => {});
      });
    expect(await upgrade({})).toBe(101);
    expect(await upgrade({ origin: `http://127.0.0.1:${server.port}` })).toBe(101);
    expect(await upgrade({ origin: "https://page.example" })).toBe(403);
    expect(await upgrade({ origin: "null" })).toBe(403);
    expect(await upgrade({ host: "page.example" })).toBe(421);
  });

  it("do not get the page itself into a frame or a script", async () => {
    const built = buildClient();
    try {
      const running = await start({ server: { dashboardFolder: built.folder } });
      const page = (headers: Record<string, string>) => running.client.send("/", { outside: true, headers });
      expect((await page({ host: "page.example" })).status).toBe(421);
      expect((await page({ origin: "https://page.example" })).status).toBe(403);
    } finally {
      built.remove();
    }
  });
});

describe("hosts", () => {
  it("are every name of the loopback, in any case and with any port that is mapped to ours", async () => {
    const running = await start();
    const { port } = running.server;
    for (const host of [`127.0.0.1:${port}`, "127.0.0.1", "127.8.9.1", `LocalHost:${port}`, "[::1]:80", "localhost"])
      expect([host, await codeOf(running, "GET", "/api/time", { host })]).toEqual([host, "200"]);
    for (const host of ["localhost.", "127.0.0.1.page.example", "localhost:80:80", "user@localhost", "0x7f.1"])
      expect([host, await codeOf(running, "GET", "/api/time", { host })]).toEqual([host, "421 FOREIGN_HOST"]);
  });

  it("are every address that the service listens on, so that a scraper may ask by address", async () => {
    const running = await start({ server: { host: "0.0.0.0" } });
    const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map((one) => one));
    for (const { address, family } of addresses) {
      const host = family === "IPv6" ? `[${address}]:1` : `${address}:1`;
      expect([host, await codeOf(running, "GET", "/api/time", { host })]).toEqual([host, "200"]);
    }
    expect(await codeOf(running, "GET", "/api/time", { host: "203.0.113.7" })).toBe("421 FOREIGN_HOST");
  });

  it("are those that configuration names", async () => {
    const running = await start({ server: { allowedHosts: ["trade.example", "proxy.example:8443"] } });
    expect(await codeOf(running, "GET", "/api/time", { host: "Trade.example" })).toBe("200");
    expect(await codeOf(running, "GET", "/api/time", { host: "trade.example:444" })).toBe("200");
    expect(await codeOf(running, "GET", "/api/time", { host: "proxy.example:8443" })).toBe("200");
    expect(await codeOf(running, "GET", "/api/time", { host: "proxy.example" })).toBe("421 FOREIGN_HOST");
    expect(await codeOf(running, "GET", "/api/time", { host: "other.example" })).toBe("421 FOREIGN_HOST");
  });

  it("are printed without a port that is the default", async () => {
    const running = await start({
      server: { allowedHosts: ["tls.example:443", "plain.example:80", "b.example:8443"] },
    });
    const outcomes: string[] = [];
    for (const host of ["tls.example", "tls.example:443", "plain.example", "plain.example:80"])
      outcomes.push(`${host} ${await codeOf(running, "GET", "/api/time", { host })}`);
    expect(outcomes).toEqual(["tls.example 200", "tls.example:443 200", "plain.example 200", "plain.example:80 200"]);
    // A proxy that passes its port on; the browser leaves it out.
    const own = { host: "plain.example:80", origin: "http://plain.example" };
    expect(await codeOf(running, "GET", "/api/time", own)).toBe("200");
    expect(await codeOf(running, "GET", "/api/time", { ...own, host: "tls.example:443" })).toBe("403 FOREIGN_ORIGIN");
    for (const host of ["b.example", "tls.example:444", "plain.example:8080"])
      expect(await codeOf(running, "GET", "/api/time", { host })).toBe("421 FOREIGN_HOST");
  });
});

describe("origins that configuration names", () => {
  it("read and trade, and are listed by name", async () => {
    const running = await start({ server: { allowedOrigins: ["https://a.example", "https://b.example:8443"] } });
    const one = await running.client.send("/api/time", { headers: { origin: "https://b.example:8443" } });
    expect(one.status).toBe(200);
    expect(one.headers).toMatchObject({ "access-control-allow-origin": "https://b.example:8443", vary: "Origin" });
    const none = await running.client.send("/api/time");
    expect(none.headers).toMatchObject({ vary: "Origin" });
    expect(none.headers["access-control-allow-origin"]).toBeUndefined();
    const close = await codeOf(running, "POST", "/api/trade/position/close", { origin: "https://a.example" });
    expect(close).toBe("400 MISSING_PARAMETERS");
    const preflight = await running.client.send("/api/trade/position/close", {
      method: "OPTIONS",
      headers: { origin: "https://a.example", "access-control-request-method": "POST" },
    });
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": "https://a.example",
      "access-control-allow-methods": "POST, OPTIONS",
    });
    expect(await codeOf(running, "GET", "/api/time", { origin: "https://c.example" })).toBe("403 FOREIGN_ORIGIN");
  });

  it("are the same with the port of their scheme, which no browser says", async () => {
    const allowedOrigins = ["https://a.example:443", "http://b.example:80", "https://c.example:80"];
    const running = await start({ server: { allowedOrigins } });
    const outcomes: string[] = [];
    for (const origin of ["https://a.example", "http://b.example", "https://c.example:80"])
      outcomes.push(`${origin} ${await codeOf(running, "GET", "/api/time", { origin })}`);
    expect(outcomes).toEqual(["https://a.example 200", "http://b.example 200", "https://c.example:80 200"]);
    for (const origin of ["http://a.example", "https://b.example", "https://c.example"])
      expect(await codeOf(running, "GET", "/api/time", { origin })).toBe("403 FOREIGN_ORIGIN");
  });

  it("read what any page may ask, too", async () => {
    const running = await start({ server: { allowedOrigins: ["https://a.example"] } });
    const told = async (origin: string) =>
      (await running.client.send("/health", { headers: { origin } })).headers["access-control-allow-origin"];
    expect(await told("https://a.example")).toBe("https://a.example");
    expect(await told("https://c.example")).toBeUndefined();
  });

  it("may be all of them, for what only reads", async () => {
    const running = await start({ server: { allowedOrigins: ["*"] } });
    const read = await running.client.send("/api/time", { headers: { origin: "https://any.example" } });
    expect([read.status, read.headers["access-control-allow-origin"]]).toEqual([200, "https://any.example"]);
    expect(await codeOf(running, "POST", "/api/trade/position/close", { origin: "https://any.example" })).toBe(
      "403 FOREIGN_ORIGIN",
    );
    expect(await codeOf(running, "GET", "/api/time", { origin: "null" })).toBe("200");
  });

  it("are none by default", async () => {
    const running = await start();
    const reply = await running.client.send("/api/time");
    expect(Object.keys(reply.headers).filter((name) => /^access-control|^vary$/.test(name))).toEqual([]);
  });
});

describe("bodies", () => {
  const OTHER_TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonx",
    "application/json-patch+json",
    "text/plain; application/json",
    "",
  ];

  it("are JSON and say so, on every route that changes something", async () => {
    const running = await start();
    for (const operation of ROUTES) {
      if (operation.method === "GET") continue;
      for (const type of OTHER_TYPES) {
        const reply = await running.client.send(pathOf(operation), {
          method: operation.method,
          headers: { "content-type": type },
          body: '{"symbol":"BTC"}',
        });
        const code = (reply.body as { code?: string }).code;
        expect([operation.path, type, reply.status, code]).toEqual([
          operation.path,
          type,
          415,
          "UNSUPPORTED_MEDIA_TYPE",
        ]);
      }
    }
  });

  it("may name a charset", async () => {
    const running = await start();
    for (const type of ["application/json; charset=utf-8", "Application/JSON;charset=UTF-8", "application/json "])
      expect(await codeOf(running, "POST", "/api/trade/position/close", { "content-type": type })).toBe(
        "400 MISSING_PARAMETERS",
      );
  });

  it("need no type where there is none", async () => {
    const running = await start();
    for (const operation of ROUTES) {
      if (operation.method === "GET") continue;
      const reply = await running.client.send(pathOf(operation), { method: operation.method });
      expect([operation.path, reply.status === 415]).toEqual([operation.path, false]);
    }
  });
});
