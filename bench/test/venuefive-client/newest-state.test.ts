/** What is signed is checked against what this client has seen last, whichever node, wallet client or page part asks. */
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { privateKeyToAccount } from "viem/accounts";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { looks, nextKey, ORDER, PATIENT, refusal, type Stand, startStand } from "./stand.js";

const BTC = 1;
const SLOT = { pairIndex: BTC, tradeIndex: 0 };

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ rolloverFeePerBlock: 0n });
});
afterAll(() => world.stop());

const oracle = { getPriceUpdate: async () => ({ priceUpdateData: ["0xcafe"], priceSourcing: 1 }) as const };
const head = async (): Promise<Hex> => (await world.chain.rpc("eth_blockNumber")) as Hex;

/** Answers as of `block` for so many questions after the block's number, and shows that number. */
function lagBehind({ node }: Stand, block: Hex, questions: number): void {
  let left = questions;
  node.intercept = (request, forward) => {
    if (left <= 0) return forward(request);
    if (request.method === "eth_blockNumber") {
      left -= 1;
      return Promise.resolve(block);
    }
    if (request.method !== "eth_call") return forward(request);
    return forward({ ...request, params: [request.params[0], block] as never });
  };
}

async function opened(options = {}): Promise<Stand> {
  const stand = await startStand(world, options);
  await stand.trading.openPosition(ORDER);
  await world.keeper.round();
  stand.wallet.asked.length = 0;
  return stand;
}

describe("a node that lags behind a receipt it has shown", () => {
  it("has an allowance that is used up: it is approved again before the order", async () => {
    const stand = await startStand(world);
    let approvedAt = head();
    await stand.trading.openPosition(ORDER, {
      onStep: ({ step }) => {
        if (step === "approve-mined") approvedAt = head();
      },
    });
    lagBehind(stand, await approvedAt, 5);
    await stand.trading.openPosition(ORDER);
    expect(stand.signed()).toEqual(["approve", "openTrade", "approve", "openTrade"]);
  });

  it("has less collateral than the position: a full close is of all of it", async () => {
    const stand = await opened(oracle);
    await world.chain.mine(2);
    const before = await head();
    await stand.trading.updateMargin({ ...SLOT, type: "DEPOSIT", amountUsdc: "50" });
    lagBehind(stand, before, 5);
    await stand.trading.closePosition(SLOT);
    await world.keeper.round();
    const args = [stand.address, BTC, 0];
    expect((await world.read<{ leverage: bigint }>("TradingStorage", "openTrades", args)).leverage).toBe(0n);
  });

  it("does not show the position that the keeper has opened: it is closed all the same", async () => {
    const stand = await startStand(world, { waitFor: "executed" });
    const before = await head();
    await stand.trading.openPosition(ORDER, {
      onStep: ({ step }) => {
        if (step === "mined") void world.keeper.round();
      },
    });
    lagBehind(stand, before, 5);
    expect(await stand.with({ waitFor: "mined" }).closePosition(SLOT)).toMatch(/^0x/);
  });

  it("for longer than it may is CHAIN_UNAVAILABLE, and nothing is signed", async () => {
    const stand = await opened({ timeouts: { ...PATIENT, lagMs: looks(4) } });
    lagBehind(stand, "0x1", Number.POSITIVE_INFINITY);
    const error = await refusal(stand.trading.closePosition(SLOT));
    expect(error).toMatchObject({ code: "CHAIN_UNAVAILABLE", outcome: "notSent" });
    expect(stand.signed()).toEqual([]);
  });
});

describe("two wallet clients of one account", () => {
  it.each(["with its address", "that names none"])("%s take turns as one does", async (kind) => {
    const stand = await startStand(world);
    const clients = [stand.wallet.client(), stand.wallet.client()].map((client) => {
      if (kind === "with its address") return client;
      const { account: _, ...nameless } = client;
      return nameless as never;
    });
    await Promise.all(clients.map((walletClient) => stand.with({ walletClient }).openPosition(ORDER)));
    expect(stand.signed()).toEqual(["approve", "openTrade", "approve", "openTrade"]);
  });
});

describe("an account that the wallet changes while a call waits for its turn", () => {
  it("does not sign the call of the one before", async () => {
    const stand = await startStand(world);
    const other = privateKeyToAccount(nextKey());
    await world.fund(other.address, { usdc: "10000", coins: "10" });
    const { account: _, ...nameless } = stand.wallet.client();
    const trading = stand.with({ walletClient: nameless as never });
    stand.wallet.next = async (send) => {
      // The second call waits since the first was asked for its approval.
      stand.wallet.accounts = [other.address];
      return send();
    };
    const [, second] = await Promise.allSettled([trading.openPosition(ORDER), trading.openPosition(ORDER)]);
    expect(second).toMatchObject({ reason: { code: "WALLET_DISCONNECTED", outcome: "notSent" } });
    expect(stand.signed()).toEqual(["approve", "openTrade"]);
  });
});

describe("a slot that another position has taken", () => {
  it("is not closed by the symbol and direction of the one before", async () => {
    const stand = await opened();
    const before = await head();
    await stand.trading.closePosition(SLOT);
    await world.keeper.round();
    await stand.trading.openPosition({ ...ORDER, direction: "SHORT" });
    await world.keeper.round();
    stand.wallet.asked.length = 0;
    // One of two nodes behind one address answers with the list of before.
    const { Multicall } = world.addresses;
    stand.node.intercept = (request, forward) => {
      const [call] = (request.params ?? []) as unknown as [{ to?: Hex } | undefined];
      if (request.method !== "eth_call" || call?.to?.toLowerCase() !== Multicall.toLowerCase()) return forward(request);
      return forward({ ...request, params: [call, before] as never });
    };
    const error = await refusal(stand.trading.closeBySymbol("BTC", "LONG"));
    expect(error).toMatchObject({ code: "NO_POSITION", outcome: "notSent" });
    expect(stand.signed()).toEqual([]);
  });
});
