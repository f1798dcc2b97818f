/** Types of calls follow from the operations table. Held by the compiler; the tests only run what it has checked. */
import { describe, expectTypeOf, it } from "vitest";
import type { ApiClient } from "./api-client.js";
import type { CallArguments, CallRequest, DataOf, IsKeyed, OperationId, RefusedDataOf } from "./operations.js";

/** Never called: its types are what matters. */
async function calls(api: ApiClient): Promise<void> {
  const close = await api.call("positionClose", {
    body: { symbol: "BTC", direction: "LONG", size: "0.01", credentials: {} },
    idempotencyKey: "k",
  });
  if (close.ok) expectTypeOf(close.data.execution.filledSize).toEqualTypeOf<string>();
  else expectTypeOf(close.outcome).toEqualTypeOf<"refused" | "unknown">();
  await api.call("time");
  await api.call("venueBook", { parameters: { exchange: "venueone", symbol: "BTC" }, query: { depth: 5 } });
  await api.call("venueoneOrder", {
    body: { symbol: "BTC", side: "BUY", type: "LIMIT", quantity: "1", price: "1", userId: "u" },
    headers: { "x-wallet-id": "w" },
  });
}

describe("types of calls", () => {
  it("name what a reply has, and what a refusal brings", () => {
    expectTypeOf(calls).toBeFunction();
    expectTypeOf<DataOf<"time">>().toEqualTypeOf<{ serverTime: number; iso: string }>();
    expectTypeOf<DataOf<"metrics">>().toEqualTypeOf<string>();
    expectTypeOf<DataOf<"health">>().toHaveProperty("uptimeMs").toEqualTypeOf<number>();
    expectTypeOf<DataOf<"walletCreate">>().toHaveProperty("address").toEqualTypeOf<string>();
    expectTypeOf<DataOf<"walletSign">>().toHaveProperty("signature").toEqualTypeOf<string>();
    expectTypeOf<DataOf<"killSwitch">>().toHaveProperty("active").toEqualTypeOf<boolean>();
    expectTypeOf<RefusedDataOf<"time">>().toEqualTypeOf<undefined>();
    expectTypeOf<RefusedDataOf<"positionClose">>().toExtend<object | undefined>();
  });

  it("refuse what the service would refuse", () => {
    type Close = CallRequest<"positionClose">;
    const body = { symbol: "BTC", direction: "LONG", size: "1", credentials: {} } as const;
    expectTypeOf({ body }).toExtend<Close>();
    expectTypeOf({}).not.toExtend<Close>();
    expectTypeOf({ body: { ...body, direction: "UP" } }).not.toExtend<Close>();
    type Book = CallRequest<"venueBook">["parameters"];
    expectTypeOf({ exchange: "venueone", symbol: "BTC" } as const).toExtend<Book>();
    expectTypeOf({ exchange: "venuenine", symbol: "BTC" } as const).not.toExtend<Book>();
    expectTypeOf<CallRequest<"venueoneClose">["headers"]>().toHaveProperty("x-wallet-id").toEqualTypeOf<string>();
    expectTypeOf<CallRequest<"killSwitch">>().not.toHaveProperty("idempotencyKey");
    expectTypeOf<"positionRaise">().not.toExtend<OperationId>();
  });

  it("know which operations can be repeated by a key", () => {
    expectTypeOf<IsKeyed<"positionClose">>().toEqualTypeOf<true>();
    expectTypeOf<IsKeyed<"cancelOrder">>().toEqualTypeOf<false>();
    expectTypeOf<CallRequest<"closeEverything">>().toHaveProperty("idempotencyKey");
    expectTypeOf<IsKeyed<"walletCreate" | "walletSign">>().toEqualTypeOf<true>();
  });

  it("exist for every operation", () => {
    expectTypeOf<CallArguments<OperationId>>().not.toBeNever();
    expectTypeOf<
      Extract<{ [K in OperationId]: unknown extends DataOf<K> ? K : never }[OperationId], string>
    >().toEqualTypeOf<
      "openapi" | "asyncapi" | "venueoneTicker" | "venuetwoTicker" | "venuethreeTicker" | "venuefourTicker"
    >();
  });
});
