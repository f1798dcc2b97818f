/** What callers of the actions rely on in their types. */
import { type Account, type Client, createPublicClient, createWalletClient, custom, http } from "viem";
import { base } from "viem/chains";
import { describe, expectTypeOf, it } from "vitest";
import {
  type ClosePositionParameters,
  createVenuefiveTrading,
  type OpenPositionParameters,
  type OpenPositionResult,
  type VenuefiveStepEvent,
  type VenuefiveTradeError,
  type VenuefiveTrading,
  type VenuefiveTradingOptions,
} from "./index.js";

type Hash = `0x${string}`;

describe("trading at venuefive, by its types,", () => {
  it("takes viem's clients of any chain, transport and account", () => {
    const onChain = createPublicClient({ chain: base, transport: http() });
    const plain = createPublicClient({ transport: http() });
    const injected = createWalletClient({ transport: custom({ request: async () => null }) });
    expectTypeOf<typeof onChain>().toExtend<VenuefiveTradingOptions["publicClient"]>();
    expectTypeOf<typeof plain>().toExtend<VenuefiveTradingOptions["publicClient"]>();
    expectTypeOf<typeof injected>().toExtend<NonNullable<VenuefiveTradingOptions["walletClient"]>>();
    expectTypeOf<Account>().not.toExtend<VenuefiveTradingOptions["walletClient"]>();
    expectTypeOf(createVenuefiveTrading).parameters.toEqualTypeOf<[VenuefiveTradingOptions]>();
    expectTypeOf(createVenuefiveTrading).returns.toEqualTypeOf<VenuefiveTrading>();
    expectTypeOf<Client | null | undefined>().toEqualTypeOf<VenuefiveTradingOptions["walletClient"]>();
  });

  it("opens with the parameters and the result of the interface spec", () => {
    expectTypeOf<OpenPositionParameters["symbol"]>().toBeString();
    expectTypeOf<OpenPositionParameters["direction"]>().toEqualTypeOf<"LONG" | "SHORT">();
    expectTypeOf<OpenPositionParameters["positionSizeUsd"]>().toBeString();
    expectTypeOf<OpenPositionParameters["leverage"]>().toBeNumber();
    expectTypeOf<OpenPositionParameters["openPrice"]>().toBeString();
    expectTypeOf<OpenPositionParameters["orderType"]>().toEqualTypeOf<
      "MARKET" | "LIMIT" | "STOP_LIMIT" | "MARKET_ZERO_FEE"
    >();
    expectTypeOf<OpenPositionParameters["slippagePercent"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<OpenPositionParameters["tp"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<OpenPositionParameters["sl"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<VenuefiveTrading["openPosition"]>().returns.resolves.toEqualTypeOf<OpenPositionResult>();
    expectTypeOf<OpenPositionResult["txHash"]>().toEqualTypeOf<Hash>();
    expectTypeOf<OpenPositionResult["size"]>().toBeString();
    expectTypeOf<OpenPositionResult["leverage"]>().toBeNumber();
  });

  it("closes by indexes or by symbol, and resolves with the hash", () => {
    expectTypeOf<ClosePositionParameters["pairIndex"]>().toBeNumber();
    expectTypeOf<ClosePositionParameters["tradeIndex"]>().toBeNumber();
    expectTypeOf<ClosePositionParameters["closeAmountUsdc"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<{ readonly pairIndex: 1 }>().not.toExtend<ClosePositionParameters>();
    expectTypeOf<VenuefiveTrading["closePosition"]>().returns.resolves.toEqualTypeOf<Hash>();
    expectTypeOf<VenuefiveTrading["closeBySymbol"]>().parameter(0).toBeString();
    expectTypeOf<VenuefiveTrading["closeBySymbol"]>().parameter(1).toEqualTypeOf<"LONG" | "SHORT">();
    expectTypeOf<VenuefiveTrading["closeBySymbol"]>().returns.resolves.toEqualTypeOf<Hash>();
  });

  it("tells steps and errors apart by their names", () => {
    type Matched = Extract<VenuefiveStepEvent, { step: "matched" }>;
    expectTypeOf<Matched["matchCount"]>().toBeNumber();
    expectTypeOf<VenuefiveStepEvent["step"]>().toEqualTypeOf<
      "matched" | "approve" | "approve-mined" | "sign" | "sent" | "mined" | "executed"
    >();
    expectTypeOf<VenuefiveTradeError>().toExtend<Error>();
    expectTypeOf<VenuefiveTradeError["outcome"]>().toEqualTypeOf<"notSent" | "failed" | "pending" | "unknown">();
    expectTypeOf<"NO_SUCH_CODE">().not.toExtend<VenuefiveTradeError["code"]>();
    expectTypeOf<VenuefiveTradeError["txHash"]>().toEqualTypeOf<Hash | null>();
  });
});
