/** What is wrong before a transaction leaves: a typed error, and nothing signed that should not be. */
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TradingClock } from "../../../client/venuefive/options.js";
import type { VenuefiveStepEvent } from "../../../client/venuefive/steps.js";
import { minedReceipt } from "../../sim/chain/chain-rpc.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { keyClients, nextKey, ORDER, PATIENT, refusal, type Stand, startStand } from "./stand.js";

const BTC = 1;
const SLOT = { pairIndex: BTC, tradeIndex: 0 };

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ rolloverFeePerBlock: 0n });
});
afterAll(() => world.stop());

/** With the contract as `turned`, and as before afterwards. */
async function whileTurned(
  [contract, name, args]: Parameters<VenuefiveWorld["turn"]>,
  back: readonly unknown[],
  work: () => Promise<void>,
): Promise<void> {
  await world.turn(contract, name, args);
  try {
    await work();
  } finally {
    await world.turn(contract, name, back);
  }
}

async function opened(): Promise<Stand> {
  const stand = await startStand(world);
  await stand.trading.openPosition(ORDER);
  await world.keeper.round();
  stand.wallet.asked.length = 0;
  return stand;
}

/** Time that ends all waits at a test's command. */
function clockOfEnds(): TradingClock & { end(): void } {
  const timers = new Set<() => void>();
  return {
    monoMs: () => 0,
    after(_, callback) {
      const timer = (): void => callback();
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    end: () => {
      for (const timer of timers) timer();
    },
  };
}

describe("without a usable wallet", () => {
  it.each([
    ["null", async (stand: Stand) => stand.with({ walletClient: null })],
    [
      "one that shows no account",
      async (stand: Stand) => {
        stand.wallet.accounts = [];
        return stand.trading;
      },
    ],
    [
      "one without account that shows none",
      async (stand: Stand) => {
        stand.wallet.accounts = [];
        const { account: _, ...nameless } = stand.wallet.client();
        return stand.with({ walletClient: nameless as never });
      },
    ],
    [
      "one that shows another account",
      async (stand: Stand) => {
        stand.wallet.accounts = ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"];
        return stand.trading;
      },
    ],
  ])("%s is WALLET_DISCONNECTED", async (_, disconnect) => {
    const stand = await startStand(world);
    const trading = await disconnect(stand);
    const error = await refusal(trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "WALLET_DISCONNECTED", outcome: "notSent" });
    expect(stand.signed()).toEqual([]);
  });

  it.each([
    [4100, "notSent"],
    [4900, "unknown"],
  ])("an answer with code %i after it was asked leaves the outcome %s", async (code, outcome) => {
    const stand = await startStand(world);
    stand.wallet.next = () => Promise.reject(Object.assign(new Error("no"), { code }));
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "WALLET_DISCONNECTED", outcome, stage: "approve" });
    expect(stand.signed()).toEqual(["approve"]);
  });

  it("on another chain is WRONG_CHAIN, and so are reads of another chain", async () => {
    const stand = await startStand(world);
    stand.wallet.chainId = 1;
    expect(await refusal(stand.trading.openPosition(ORDER))).toMatchObject({
      ...{ code: "WRONG_CHAIN", outcome: "notSent", details: { client: "the wallet", actual: 1, expected: 8453 } },
    });
    stand.wallet.chainId = 8453;
    stand.node.intercept = (request, forward) =>
      request.method === "eth_chainId" ? Promise.resolve("0xa") : forward(request);
    expect(await refusal(stand.trading.openPosition(ORDER))).toMatchObject({
      ...{ code: "WRONG_CHAIN", outcome: "notSent", details: { client: "publicClient", actual: 10 } },
    });
    expect(stand.signed()).toEqual([]);
  });

  it("that changes its chain right before it asks is WRONG_CHAIN, and is not asked", async () => {
    const stand = await startStand(world);
    const trading = stand.with({
      onStep: ({ step }) => {
        if (step === "approve") stand.wallet.chainId = 1;
      },
    });
    const error = await refusal(trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "WRONG_CHAIN", outcome: "notSent", stage: "approve" });
    expect(stand.signed()).toEqual([]);
  });
});

const reject = () => Promise.reject(Object.assign(new Error("User rejected the request."), { code: 4001 }));

describe("a user who rejects", () => {
  it("the approval is asked for no order", async () => {
    const stand = await startStand(world);
    stand.wallet.next = reject;
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "USER_REJECTED", outcome: "notSent", stage: "approve", txHash: null });
    expect(stand.signed()).toEqual(["approve"]);
  });

  it("the order has approved, which the error says", async () => {
    const stand = await startStand(world);
    const error = await refusal(
      stand.trading.openPosition(ORDER, {
        onStep: ({ step }) => {
          if (step === "sign") stand.wallet.next = reject;
        },
      }),
    );
    const approved = stand.steps.find(({ step }) => step === "approve-mined") as { txHash: Hex };
    expect(error).toMatchObject({ code: "USER_REJECTED", outcome: "notSent", stage: "trade", txHash: null });
    expect(error.details).toEqual({ approveTxHash: approved.txHash });
    expect(await world.read("TradingStorage", "pendingOrderIdsCount", [stand.address])).toBe(0n);
    // The approval is there for the next try.
    await stand.trading.openPosition(ORDER);
    expect(stand.signed()).toEqual(["approve", "openTrade", "openTrade"]);
  });
});

describe("what the chain would refuse", () => {
  it("is refused with the contract's text before the approval", async () => {
    const stand = await startStand(world);
    await whileTurned(["TradingStorage", "setMaxTradesPerPair", [0]], [40], async () => {
      const error = await refusal(stand.trading.openPosition(ORDER));
      expect(error).toMatchObject({ code: "REVERTED", outcome: "notSent", details: { isSimulated: true } });
      expect(error.details["reason"]).toBe("MAX_TRADES_PER_PAIR");
    });
    await whileTurned(["Trading", "setPaused", [true]], [false], async () => {
      const error = await refusal(stand.trading.openPosition(ORDER));
      expect(error.details["reason"]).toBe("Pausable: paused");
    });
    expect(stand.signed()).toEqual([]);
  });

  it("is refused by the balances", async () => {
    const poor = await startStand(world, { usdc: "99.999999" });
    expect(await refusal(poor.trading.openPosition(ORDER))).toMatchObject({
      ...{ code: "INSUFFICIENT_USDC", outcome: "notSent", details: { balance: "99.999999", needed: "100" } },
    });
    const dry = await startStand(world, { coins: "0.0003" });
    const missing = { code: "INSUFFICIENT_GAS", outcome: "notSent" };
    expect(await refusal(dry.trading.openPosition(ORDER))).toMatchObject(missing);
    expect([...poor.signed(), ...dry.signed()]).toEqual([]);
    const key = nextKey();
    const { account, ...clients } = keyClients(world, key);
    // Enough for the fee, and nothing for gas.
    const barely = await startStand(world, { key, ...clients, coins: "0.00035" });
    expect(await refusal(barely.trading.openPosition(ORDER))).toMatchObject(missing);
    expect(await clients.publicClient.getTransactionCount({ address: account.address })).toBe(0);
  });

  it("is refused by what is open", async () => {
    const stand = await opened();
    const { closePosition, closeBySymbol } = stand.trading;
    const cases = [
      [() => closePosition({ ...SLOT, tradeIndex: 7 }), "NO_POSITION"],
      [() => closePosition({ pairIndex: 51, tradeIndex: 0 }), "UNKNOWN_PAIR"],
      [() => closePosition({ pairIndex: -1, tradeIndex: 0 }), "UNKNOWN_PAIR"],
      [() => closePosition({ ...SLOT, closeAmountUsdc: "99.550001" }), "AMOUNT_TOO_LARGE"],
      [() => closePosition({ ...SLOT, closeAmountUsdc: "0" }), "INVALID_PARAMETERS"],
      [() => closePosition({ ...SLOT, closeAmountUsdc: "1.1234567" }), "TOO_MANY_DECIMALS"],
      [() => closeBySymbol("BTC", "SHORT"), "NO_POSITION"],
      [() => closeBySymbol("ZZZ", "LONG"), "UNKNOWN_SYMBOL"],
    ] as const;
    for (const [work, code] of cases) expect(await refusal(work())).toMatchObject({ code, outcome: "notSent" });
    expect(stand.signed()).toEqual([]);
    await closePosition(SLOT);
    expect(await refusal(closePosition(SLOT))).toMatchObject({ code: "ALREADY_BEING_CLOSED", outcome: "notSent" });
    expect(await refusal(closeBySymbol("BTC", "LONG"))).toMatchObject({ code: "ALREADY_BEING_CLOSED" });
    expect(stand.signed()).toEqual(["closeTradeMarket"]);
  });

  it("is refused where the index holds another pair, unless the guard is off", async () => {
    const stand = await startStand(world);
    const pepe = { ...ORDER, symbol: "PEPE", openPrice: "0.0000062" };
    await whileTurned(["PairStorage", "renamePair", [21, "XAU"]], [21, "PEPE"], async () => {
      const error = await refusal(stand.trading.openPosition(pepe));
      expect(error).toMatchObject({ code: "PAIR_MISMATCH", outcome: "notSent" });
      expect(error.details).toEqual({ symbol: "PEPE", pairIndex: 21, from: "XAU", to: "USD" });
      expect(await refusal(stand.trading.closeBySymbol("PEPE", "LONG"))).toMatchObject({ code: "PAIR_MISMATCH" });
      expect(stand.signed()).toEqual([]);
      await stand.with({ symbolGuard: false }).openPosition(pepe);
      await stand.with({ pairs: { XAU: 21 } }).openPosition({ ...pepe, symbol: "XAU" });
    });
    const ofAnother = stand.with({ pairs: { BTC: 2 } });
    expect(await refusal(ofAnother.openPosition(ORDER))).toMatchObject({ code: "PAIR_MISMATCH" });
    expect(stand.signed()).toEqual(["approve", "openTrade", "approve", "openTrade"]);
  });

  it("is refused where the fee by the gas price is beyond its bound, or no contract is there", async () => {
    const stand = await startStand(world);
    const dear = stand.with({ executionFeeWei: undefined, executionFeeWeiMax: 1n });
    expect(await refusal(dear.openPosition(ORDER))).toMatchObject({ code: "EXECUTION_FEE_TOO_HIGH" });
    const empty = "0x000000000000000000000000000000000000dEaD";
    const nowhere = stand.with({ addresses: { ...stand.options.addresses, PairStorage: empty } });
    expect(await refusal(nowhere.openPosition(ORDER))).toMatchObject({ code: "CONTRACT_NOT_FOUND" });
    expect(stand.signed()).toEqual([]);
  });

  it("takes the vendor's fee where the node has no gas price", async () => {
    const stand = await startStand(world);
    stand.node.intercept = (request, forward) =>
      request.method === "eth_gasPrice" ? Promise.reject(new Error("no price")) : forward(request);
    await stand.with({ executionFeeWei: undefined }).openPosition(ORDER);
    expect(stand.wallet.asked.at(-1)?.value).toBe(350_000_000_000_000n);
  });
});

describe("a chain or a wallet that does not answer", () => {
  it.each(["eth_getBalance", "eth_call", "eth_blockNumber"])(
    "to %s is CHAIN_UNAVAILABLE, with nothing signed",
    async (method) => {
      const stand = await startStand(world);
      stand.node.intercept = (request, forward) =>
        request.method === method ? Promise.reject(new Error("connection refused")) : forward(request);
      const error = await refusal(stand.trading.openPosition(ORDER));
      expect(error).toMatchObject({ code: "CHAIN_UNAVAILABLE", outcome: "notSent" });
      expect(stand.signed()).toEqual([]);
    },
  );

  it("is waited for no longer than a read may take", async () => {
    const clock = clockOfEnds();
    const stand = await startStand(world, { clock });
    stand.node.intercept = (request, forward) => {
      if (request.method !== "eth_getBalance") return forward(request);
      setImmediate(clock.end);
      return new Promise(() => {});
    };
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "CHAIN_UNAVAILABLE", outcome: "notSent" });
    expect(stand.signed()).toEqual([]);
  });

  it("leaves unknown what a silent wallet does, and the next call gets its turn", async () => {
    const clock = clockOfEnds();
    const stand = await startStand(world, { clock });
    const calls: Promise<unknown>[] = [];
    stand.wallet.next = () => {
      // The second call comes while the wallet has not answered the first.
      calls.push(refusal(stand.trading.openPosition(ORDER)));
      stand.wallet.next = reject;
      setImmediate(clock.end);
      return new Promise(() => {});
    };
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "SIGN_TIMEOUT", outcome: "unknown", stage: "approve", txHash: null });
    expect(await Promise.all(calls)).toMatchObject([{ code: "USER_REJECTED" }]);
    expect(stand.signed()).toEqual(["approve", "approve"]);
  });

  it("shows the hash of a wallet that answers after its time", async () => {
    const clock = clockOfEnds();
    const stand = await opened();
    let show = (_: unknown): void => {};
    const shown = new Promise((resolve) => {
      show = resolve;
    });
    const onStep = (event: VenuefiveStepEvent): void => {
      if (event.step === "sent") show(event);
    };
    const trading = stand.with({ clock, onStep });
    let answer = (_: Hex): void => {};
    stand.wallet.next = () => {
      setImmediate(clock.end);
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const error = await refusal(trading.closePosition(SLOT));
    expect(error).toMatchObject({ code: "SIGN_TIMEOUT", outcome: "unknown", txHash: null });
    const txHash = `0x${"ab".repeat(32)}` as const;
    answer(txHash);
    expect(await shown).toMatchObject({ step: "sent", operation: "closePosition", txHash, replaces: null });
  });

  it("leaves unknown what a wallet that fails has sent", async () => {
    const stand = await opened();
    stand.wallet.next = async (send) => {
      await minedReceipt(world.chain.rpc, await send());
      throw Object.assign(new Error("Internal error"), { code: -32603 });
    };
    const error = await refusal(stand.trading.closePosition(SLOT));
    expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown", stage: "trade", txHash: null });
    // It was sent indeed.
    expect(await world.read("TradingStorage", "pendingOrderIdsCount", [stand.address])).toBe(1n);
    expect(stand.signed()).toEqual(["closeTradeMarket"]);
  });

  it("has sent nothing where the wallet refuses the request", async () => {
    const stand = await opened();
    stand.wallet.next = () => Promise.reject(Object.assign(new Error("Invalid params"), { code: -32602 }));
    const error = await refusal(stand.trading.closePosition(SLOT));
    expect(error).toMatchObject({ code: "SEND_REFUSED", outcome: "notSent" });
  });
});

describe("a refusal in the block", () => {
  it("is an error with the contract's text and the hash", async () => {
    const stand = await opened();
    stand.wallet.next = async (send) => {
      await world.turn("Trading", "setPaused", [true]);
      return send();
    };
    const error = await refusal(stand.trading.closePosition(SLOT));
    await world.turn("Trading", "setPaused", [false]);
    expect(error).toMatchObject({ code: "REVERTED", outcome: "failed", txHash: expect.stringMatching(/^0x/) });
    expect(error.details).toMatchObject({ reason: "Pausable: paused", isSimulated: false });
    const { status } = (await world.chain.rpc("eth_getTransactionReceipt", [error.txHash])) as { status: Hex };
    expect(status).toBe("0x0");
  });
});

describe("a listener that throws", () => {
  it("stops no order", async () => {
    const stand = await startStand(world, { timeouts: PATIENT });
    const onStep = () => {
      throw new Error("a listener's own");
    };
    expect((await stand.trading.openPosition(ORDER, { onStep })).txHash).toMatch(/^0x/);
  });
});
