/** A route that forgets to prove its caller cannot answer: it fails, whoever asks, and says nothing. */
import uws from "uWebSockets.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Agent, request } from "undici";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import type { Operation, OperationAccess } from "../../schemas/operation.js";
import { OPERATIONS } from "../../schemas/operations.js";
import { createTestAuth, ADMIN, signed } from "../test/test-keys.js";
import { Edge } from "./edge.js";
import { RateLimiter } from "./limiter.js";
import { mountRoutes } from "./mount.js";
import { OriginGuard } from "./origin-guard.js";
import type { Route } from "./route.js";

const RULE = { perSecond: 1_000_000, burst: 1_000_000 };
const SECRET_ANSWER = '{"balance":"1000000"}';
const clock = createSystemClock();
const auth = createTestAuth();
const edge = new Edge({
  clock,
  logger: silentLogger,
  limiter: new RateLimiter({ read: RULE, trade: RULE, exit: RULE, transfer: RULE, anon: RULE }, 10),
  nextRequestId: () => "check-1",
  origins: new OriginGuard({ listenHost: "127.0.0.1", allowedHosts: [], allowedOrigins: [] }, clock),
  loopbackOnly: true,
  targetBytesMax: 4096,
  authenticator: auth.authenticator,
});
const app = uws.App();
const agent = new Agent();
let port = 0;

const operationAt = (path: string, method: Operation["method"], access: OperationAccess): Operation => ({
  ...OPERATIONS.time,
  id: path,
  path,
  method,
  access,
});
const READ: OperationAccess = { scope: "read", owner: "rows" };
const ways: Readonly<Record<string, Route["handle"]>> = {
  "/sync": (response) => edge.ok(response, SECRET_ANSWER),
  "/later": (response) => {
    const reply = edge.detach(response);
    try {
      reply.json(SECRET_ANSWER);
    } catch (error) {
      reply.fail(error as never);
    }
  },
  "/text": (response) => {
    const reply = edge.detach(response);
    try {
      reply.text("text/plain", SECRET_ANSWER);
    } catch (error) {
      reply.fail(error as never);
    }
  },
  "/stream": (response) => {
    const reply = edge.detach(response);
    try {
      reply.stream("text/csv", "", clock, 1000)?.end();
    } catch (error) {
      reply.fail(error as never);
    }
  },
};

beforeAll(async () => {
  const routes = Object.entries(ways).map(
    ([path, handle]): Route => ({ operation: operationAt(path, "POST", READ), readsBody: true, handle }),
  );
  mountRoutes(app, edge, routes, false);
  port = await new Promise<number>((resolve, reject) => {
    app.listen("127.0.0.1", 0, (socket) => {
      if (socket === false) reject(new Error("cannot listen"));
      else resolve(uws.us_socket_local_port(socket));
    });
  });
});
afterAll(async () => {
  await agent.destroy();
  app.close();
});

let lastMs = 0;
async function post(path: string, body: string): Promise<{ status: number; text: string }> {
  lastMs = Math.max(lastMs + 1, Date.now());
  const headers = signed(ADMIN, { method: "POST", target: path, body, timestamp: lastMs });
  const reply = await request(`http://127.0.0.1:${port}${path}`, { method: "POST", dispatcher: agent, headers, body });
  return { status: reply.statusCode, text: await reply.body.text() };
}

describe("a route that answers before its caller is proven", () => {
  it.each(Object.keys(ways))("by %s fails instead", async (path) => {
    const reply = await post(path, "{}");
    expect([reply.status, reply.text.includes("INTERNAL"), reply.text.includes("balance")]).toEqual([500, true, false]);
  });

  it.each(Object.keys(ways))("by %s is no matter where no body comes: it was proven on arrival", async (path) => {
    expect((await post(path, "")).status).toBe(200);
  });
});
