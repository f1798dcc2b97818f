import { describe, expect, it } from "vitest";
import { buildAsyncApi } from "../../schemas/asyncapi.js";
import { buildOpenApi } from "../../schemas/openapi.js";
import { fieldsOf, framesOf, groupsOf, type Json, matches, resolve, typeText } from "./api-docs.js";

/** The documents as the page gets them. */
const openapi = JSON.parse(JSON.stringify(buildOpenApi())) as Json;
const asyncapi = JSON.parse(JSON.stringify(buildAsyncApi())) as Json;

describe("the operations of the HTTP document", () => {
  const groups = groupsOf(openapi);
  const operations = groups.flatMap((group) => group.operations);

  it("are all shown, by tag, each with its texts, parameters and replies", () => {
    const paths = Object.values(openapi["paths"] as Record<string, Record<string, { operationId: string }>>);
    const ids = paths.flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
    expect(operations.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(groups.map(({ name }) => name)).toEqual([
      "trade",
      "orders",
      "account",
      "wallets",
      "market data",
      "history",
      "service",
    ]);
    for (const { id, description, replies } of operations) {
      expect(description, id).not.toBe("");
      expect(replies[0], id).toMatchObject({ status: "200" });
      for (const reply of replies) expect(reply.description, `${id} ${reply.status}`).not.toBe("");
    }
    const close = operations.find(({ id }) => id === "positionClose");
    expect(close).toMatchObject({ method: "POST", path: "/api/trade/position/close" });
    expect(close?.access).toContain("X-API-KEY with X-API-TIMESTAMP with X-API-SIGNATURE");
    expect(close?.access).toContain("none in public mode");
    expect(operations.find(({ id }) => id === "venueoneOrder")?.access).toContain("x-wallet-id");
    expect(close?.body?.example).toContain('"symbol": "BTC"');
  });

  it("are found by any word of them", () => {
    const found = (text: string) => operations.filter((one) => matches(one, text)).map(({ id }) => id);
    expect(found("GUESS dead-man")).toEqual(["deadManHeartbeat"]);
    expect(found("SLIPPAGE_CAP")).toContain("positionClose");
    expect(found("")).toHaveLength(operations.length);
    expect(found("xylophone")).toEqual([]);
  });

  it("show every field of a body and of a reply, references followed", () => {
    const close = operations.find(({ id }) => id === "positionClose");
    const rows = fieldsOf(openapi, close?.body?.schema ?? null);
    expect(rows.find(({ name }) => name === "symbol")).toMatchObject({ type: "string", isRequired: true });
    const credentials = rows.find(({ name }) => name === "credentials");
    expect(credentials?.type).toBe("object");
    expect(fieldsOf(openapi, credentials?.schema ?? null).map(({ name }) => name)).toContain("venueone");
    const positions = operations.find(({ id }) => id === "allPositions")?.replies[0];
    expect(fieldsOf(openapi, positions?.schema ?? null).map(({ name }) => name)).toContain("data");
  });
});

describe("types as text", () => {
  it.each([
    [{ type: "string" }, "string"],
    [{ type: ["string", "null"] }, "string or null"],
    [{ type: "string", enum: ["BUY", "SELL"] }, "BUY, SELL"],
    [{ const: false, type: "boolean" }, "false"],
    [{ type: "array", items: { type: "integer" } }, "list of integer"],
    [{ anyOf: [{ type: "string" }, { type: "number" }] }, "string or number"],
    [{ $ref: "#/components/schemas/ErrorReply" }, "object"],
    [{}, "any"],
  ])("show %j as %s", (schema, words) => {
    expect(typeText(openapi, schema)).toBe(words);
  });

  it("end at a reference to itself, or to nothing", () => {
    const looped = { components: { schemas: { A: { $ref: "#/components/schemas/A" } } } };
    expect(resolve(looped, { $ref: "#/components/schemas/A" })).toEqual({});
    expect(resolve(looped, { $ref: "#/components/schemas/Gone" })).toEqual({});
    expect(resolve(looped, { $ref: "https://elsewhere.example/a.json" })).toEqual({});
  });
});

describe("the frames of the stream document", () => {
  it("are all shown, with their sender and their fields", () => {
    const frames = framesOf(asyncapi);
    const { messages } = asyncapi["components"] as { messages: Record<string, object> };
    expect(frames.map(({ name }) => name).sort()).toEqual(Object.keys(messages).sort());
    const of = (name: string) => frames.find((frame) => frame.name === name);
    expect([of("SubscribeTicker")?.sender, of("TickerUpdate")?.sender]).toEqual(["you", "the service"]);
    expect(fieldsOf(asyncapi, of("SubscribeTicker")?.schema ?? null).map(({ name }) => name)).toContain("symbols");
    expect(frames.some(({ example }) => example !== null)).toBe(true);
  });
});
