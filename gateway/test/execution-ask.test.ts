/** GET /api/trade/executions/{routeId} with per-request credentials, and the venuetwo ticker without its keys. */
import { afterEach, describe, expect, it } from "vitest";
import { OPERATIONS } from "../../schemas/operations.js";
import { MAX_VENUE_CREDENTIALS_CHARS } from "../../schemas/executions.js";
import { readVenueCredentials } from "../api/venue-credentials.js";
import type { Json, Reply } from "./client.js";
import { type Harness, startHarness } from "./harness.js";

const SECRET = `0x${"5eed".repeat(16)}`;
const CREDENTIALS = { venueone: { privateKey: SECRET } };
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

let harness: Harness;
afterEach(async () => {
  await harness.stop();
});

function at(reply: Reply, path: string): Json | undefined {
  let value: Json | undefined = reply.body;
  for (const key of path.split(".")) {
    value = value !== null && typeof value === "object" && !Array.isArray(value) ? value[key] : undefined;
  }
  return value;
}

async function unknownClose(): Promise<string> {
  harness.one.placeMode = "unknown";
  const reply = await harness.client.close({
    symbol: "BTC",
    direction: "LONG",
    size: "0.1",
    credentials: CREDENTIALS,
    // Long enough for the order to leave on a slow machine.
    routingOptions: { deadlineMs: 1_500 },
  });
  expect(at(reply, "data.execution.state")).toBe("UNKNOWN");
  return String(at(reply, "data.routing.routeId"));
}

/** From now on the venue shows every order as filled. */
function venueShowsFill(): void {
  harness.one.orderShown = { filledLots: 100, averagePrice: "97417" };
}

describe("an execution asked for with credentials", () => {
  it("is looked up and answered in its new state; without them it is only read", async () => {
    harness = await startHarness();
    const routeId = await unknownClose();
    const path = `/api/trade/executions/${routeId}`;
    expect(at(await harness.client.get(path), "data.execution.state")).toBe("UNKNOWN");
    venueShowsFill();
    const asked = await harness.client.send(path, { headers: { "x-venue-credentials": encode(CREDENTIALS) } });
    expect([asked.status, at(asked, "data.execution.state"), at(asked, "data.execution.filledSize")]).toEqual([
      200,
      "COMPLETED",
      "0.1",
    ]);
    expect(at(await harness.client.get(path), "data.execution.state")).toBe("COMPLETED");
    expect(at(await harness.client.get("/api/status"), "data.unknownOrders.count")).toBe(0);
    expect(harness.one.sessionsOpen()).toBe(0);
  });

  it.each([
    ["base64url", encode(CREDENTIALS)],
    ["plain JSON", encodeURIComponent(JSON.stringify(CREDENTIALS))],
  ])("takes the query parameter as %s", async (_, text) => {
    harness = await startHarness();
    const routeId = await unknownClose();
    venueShowsFill();
    const asked = await harness.client.get(`/api/trade/executions/${routeId}?credentials=${text}`);
    expect(at(asked, "data.execution.state")).toBe("COMPLETED");
  });

  it("names the field of what is malformed, and repeats nothing of it anywhere", async () => {
    harness = await startHarness();
    const routeId = await unknownClose();
    const path = `/api/trade/executions/${routeId}`;
    const header = async (text: string, target = path): Promise<Reply> =>
      harness.client.send(target, { headers: { "x-venue-credentials": text } });
    const replies = [
      [await header(`${SECRET}+/`), "X-Venue-Credentials"],
      [
        await header(Buffer.from(`{"venueone":{"privateKey":"${SECRET}"}`).toString("base64url")),
        "X-Venue-Credentials",
      ],
      [await header(encode([SECRET])), "X-Venue-Credentials"],
      [await header(encode({ venueone: { privateKey: [SECRET] } })), "X-Venue-Credentials.venueone.privateKey"],
      [await header(encode({ venueone: {} })), "X-Venue-Credentials.venueone.privateKey"],
      [await header(encode({ venueone: { privateKey: "bad" } })), "credentials.venueone"],
      [await header(encode(CREDENTIALS), `${path}?credentials=${encode(CREDENTIALS)}`), "credentials"],
      [await harness.client.get(`${path}?credentials=${encodeURIComponent(`{"a":${SECRET}`)}`), "credentials"],
    ] as const;
    for (const [reply, field] of replies) {
      expect([reply.status, at(reply, "code")]).toEqual([400, "INVALID_PARAMETERS"]);
      expect(JSON.stringify(at(reply, "details.fields"))).toContain(`"path":"${field}"`);
      expect(reply.text).not.toContain(SECRET.slice(2, 40));
    }
    const output = harness.logLines.join("") + (await harness.client.get("/metrics")).text;
    expect(output).not.toContain(SECRET.slice(2, 40));
    expect(output).not.toContain(encode(CREDENTIALS).slice(0, 40));
    expect(at(await harness.client.get(path), "data.execution.state")).toBe("UNKNOWN");
  });

  it("of a single order says that it is one, and where it is asked for", async () => {
    harness = await startHarness();
    const reply = await harness.client.get("/api/trade/executions/or_01JD3W0M8R");
    expect([reply.status, at(reply, "code"), at(reply, "details.reason")]).toEqual([
      404,
      "EXECUTION_NOT_FOUND",
      "SINGLE_ORDER",
    ]);
    expect(at(reply, "details.see")).toBe(OPERATIONS.orderStatus.path);
    const unknown = await harness.client.get("/api/trade/executions/rt_01JD3W0M8R");
    expect([unknown.status, at(unknown, "details.reason")]).toEqual([404, undefined]);
  });

  it("takes up to 16 KiB of text", async () => {
    harness = await startHarness();
    const refusal = (text: string): unknown => {
      try {
        return readVenueCredentials(text, "");
      } catch (error) {
        return (error as { context?: unknown }).context;
      }
    };
    const padded = (length: number): string =>
      Buffer.from(JSON.stringify(CREDENTIALS).padEnd(length)).toString("base64url");
    const most = padded((MAX_VENUE_CREDENTIALS_CHARS / 4) * 3);
    expect(most).toHaveLength(MAX_VENUE_CREDENTIALS_CHARS);
    expect(refusal(most)).toEqual(CREDENTIALS);
    expect(refusal(`${most}A`)).toMatchObject({ fields: [{ path: "X-Venue-Credentials" }] });
    expect(refusal("")).toBeNull();
  });
});

describe("a reply that does not fit its schema", () => {
  it("is sent all the same once an order may be out", async () => {
    harness = await startHarness({
      wrapDesk: (desk) => ({
        ...desk,
        async trade(request, context) {
          const result = await desk.trade(request, context);
          if (!result.ok) return result;
          // The serialiser refuses a number where a list belongs.
          return { ...result, data: { ...result.data, execution: { ...result.data.execution, fees: 7 as never } } };
        },
      }),
    });
    // Not by the client that judges replies by the contract: this one breaks it.
    const reply = await fetch(`${harness.server.url}/api/trade/position/close`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ symbol: "BTC", direction: "LONG", size: "0.1", credentials: CREDENTIALS }),
    });
    expect(reply.status).toBe(200);
    expect(await reply.json()).toMatchObject({ success: true, data: { order: { status: "FILLED" } } });
    expect(harness.logLines.join("")).toContain("http.reply_off_schema");
  });
});

describe("the venuetwo ticker without its keys", () => {
  it("has its own error in the aggregate too, beside the other venues, and hides no symbol", async () => {
    harness = await startHarness({ server: { refusedTickers: new Set(["venuetwo"]) } });
    const error = { error: "Missing or invalid credentials for venuetwo", code: "MISSING_CREDENTIALS" };
    const reply = await harness.client.get("/api/trading/ticker/BTC");
    expect(reply.status).toBe(200);
    expect(at(reply, "data.venuetwo")).toMatchObject(error);
    expect(at(reply, "data.venueone.symbol")).toBe("BTC");
    const pepe = await harness.client.get("/api/trading/ticker/PEPE");
    expect([pepe.status, at(pepe, "data.venueone.code")]).toEqual([200, "UNKNOWN_SYMBOL"]);
    expect(at(pepe, "data.venuetwo")).toMatchObject(error);
    // Its book is public: it still counts.
    expect(at(pepe, "data.best.venueBid")).toBe("venuetwo");
    const own = await harness.client.get("/api/trading/venuetwo/ticker/BTC");
    expect([own.status, at(own, "error")]).toEqual([401, error.error]);
  });
});
