/** What components rely on in the types of the hook. */
import { describe, expectTypeOf, it } from "vitest";
import type { OpenPositionResult, VenuefiveTradeError, VenuefiveTrading } from "../venuefive/index.js";
import type {
  UseVenuefiveTradeParameters,
  UseVenuefiveTradeReturnType,
  useVenuefiveTrade,
  VenuefiveProviderProps,
  VenuefiveTradeVariables,
} from "./index.js";

type Hash = `0x${string}`;

describe("useVenuefiveTrade, by its types,", () => {
  it("may be called without parameters, and with a wallet that is not there yet", () => {
    expectTypeOf<[]>().toExtend<Parameters<typeof useVenuefiveTrade>>();
    expectTypeOf<typeof useVenuefiveTrade>().parameter(0).toEqualTypeOf<UseVenuefiveTradeParameters | undefined>();
    expectTypeOf<{ walletClient: undefined }>().toExtend<UseVenuefiveTradeParameters>();
    expectTypeOf<{ publicClient: string }>().not.toExtend<UseVenuefiveTradeParameters>();
    expectTypeOf<VenuefiveProviderProps["config"]>().toEqualTypeOf<UseVenuefiveTradeParameters>();
  });

  it("returns the operations as the actions have them", () => {
    expectTypeOf<UseVenuefiveTradeReturnType>().toExtend<VenuefiveTrading>();
    type Open = UseVenuefiveTradeReturnType["openPosition"];
    expectTypeOf<Open>().toEqualTypeOf<VenuefiveTrading["openPosition"]>();
    expectTypeOf<UseVenuefiveTradeReturnType["reset"]>().toEqualTypeOf<() => void>();
  });

  it("has the state of the latest call", () => {
    expectTypeOf<UseVenuefiveTradeReturnType["status"]>().toEqualTypeOf<"idle" | "pending" | "success" | "error">();
    expectTypeOf<UseVenuefiveTradeReturnType["data"]>().toEqualTypeOf<OpenPositionResult | Hash | undefined>();
    expectTypeOf<UseVenuefiveTradeReturnType["error"]>().toEqualTypeOf<VenuefiveTradeError | null>();
    expectTypeOf<UseVenuefiveTradeReturnType["variables"]>().toEqualTypeOf<VenuefiveTradeVariables | undefined>();
    expectTypeOf<UseVenuefiveTradeReturnType["isPending"]>().toBeBoolean();
    expectTypeOf<UseVenuefiveTradeReturnType["submittedAt"]>().toBeNumber();
  });
});
