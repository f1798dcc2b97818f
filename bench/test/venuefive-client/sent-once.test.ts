/** What may have left is asked for once, and never reported as not sent, whichever transports and wallets a page has. */
import { createWalletClient, custom, type EIP1193RequestFn, fallback } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TradingClock } from "../../../client/venuefive/options.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { keyClients, nextKey, ORDER, PATIENT, pausingClock, refusal, type Stand, startApproved } from "./stand.js";

type Request = { readonly method: string; readonly params?: unknown };
type Answer = (request: Request, forward: (request: Request) => Promise<unknown>) => Promise<unknown>;

const ONCE = { retryCount: 0 };
const failure = (code: number, message: string): Error => Object.assign(new Error(message), { code });

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ mining: { kind: "manual" }, rolloverFeePerBlock: 0n, giveUpBlocks: null });
});
afterAll(() => world.stop());

/** Puts `answer` before what `client` is asked. */
function transportOf(
  client: { readonly request: unknown },
  answer: Answer = (request, forward) => forward(request),
  config: { readonly retryCount: number; readonly retryDelay?: number } = ONCE,
) {
  const forward = client.request as (request: Request) => Promise<unknown>;
  return custom({ request: ((request: Request) => answer(request, forward)) as unknown as EIP1193RequestFn }, config);
}

/** The wallet has sent, and then fails. */
function sendsAndFails({ wallet }: Stand, error: Error = failure(-32000, "already known")): void {
  wallet.next = async (send) => {
    await send();
    throw error;
  };
}

/** What asks for a send is refused before anything has begun. */
const refusing =
  (error: Error): Answer =>
  (request, forward) =>
    request.method.endsWith("sendTransaction") ? Promise.reject(error) : forward(request);

async function waitingOrders({ address }: Stand): Promise<bigint> {
  await world.chain.mine();
  return world.read("TradingStorage", "pendingOrderIdsCount", [address]);
}

describe("a wallet that has sent and then fails", () => {
  it.each<[string, Answer]>([
    [
      "that has another method to send by",
      (request, forward) => forward({ ...request, method: "eth_sendTransaction" }),
    ],
    ["that does not let a page use other methods", () => Promise.reject(failure(4100, "not authorized"))],
  ])("%s is asked once, and the outcome is unknown", async (_, otherMethod) => {
    const stand = await startApproved(world);
    const transport = transportOf(stand.wallet.client(), (request, forward) =>
      request.method === "wallet_sendTransaction" ? otherMethod(request, forward) : forward(request),
    );
    sendsAndFails(stand);
    const walletClient = createWalletClient({ account: stand.address, transport });
    const error = await refusal(stand.with({ walletClient }).openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown" });
    expect(stand.signed()).toEqual(["openTrade"]);
    expect(await waitingOrders(stand)).toBe(1n);
  });

  it("is not taken for the node behind it, which sends nothing", async () => {
    const stand = await startApproved(world);
    const node = transportOf(stand.wallet.client(), refusing(failure(-32601, "the method does not exist")));
    const transport = fallback([transportOf(stand.wallet.client()), node], ONCE);
    sendsAndFails(stand);
    const walletClient = createWalletClient({ account: stand.address, transport });
    const error = await refusal(stand.with({ walletClient }).openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown" });
    expect(await waitingOrders(stand)).toBe(1n);
  });
});

describe("one of several wallets that has sent and then fails", () => {
  it.each<[string, Answer | undefined]>([
    ["that would send too", undefined],
    ["whose user rejects", refusing(failure(4001, "the user rejected the request"))],
    ["on another chain", refusing(failure(4902, "the chain is not added"))],
  ])("leaves one order beside another wallet %s", async (_, other) => {
    const stand = await startApproved(world);
    const one = stand.wallet.client();
    sendsAndFails(stand);
    const transport = fallback([transportOf(one), fallback([transportOf(one, other)], ONCE)], ONCE);
    const walletClient = createWalletClient({ account: stand.address, transport });
    const error = await refusal(stand.with({ walletClient }).openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown" });
    expect(stand.signed()).toEqual(["openTrade"]);
    expect(await waitingOrders(stand)).toBe(1n);
  });

  it("is asked once, though its transport asks again by itself", async () => {
    const stand = await startApproved(world);
    sendsAndFails(stand, failure(-32603, "internal error"));
    const again = transportOf(stand.wallet.client(), undefined, { retryCount: 2, retryDelay: 0 });
    const walletClient = createWalletClient({ account: stand.address, transport: fallback([again], ONCE) });
    const error = await refusal(stand.with({ walletClient }).openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown" });
    expect(stand.signed()).toEqual(["openTrade"]);
    expect(await waitingOrders(stand)).toBe(1n);
  });
});

describe("a wallet behind one that does not send", () => {
  it.each([
    [-32601, "the method does not exist"],
    [-32004, "the method is not supported"],
    [4100, "not authorized"],
  ])("for %i sends, and its user's rejection is one", async (code, message) => {
    const stand = await startApproved(world);
    const one = stand.wallet.client();
    const first = transportOf(one, refusing(failure(code, message)));
    const transport = fallback([fallback([first], ONCE), transportOf(one)], ONCE);
    const trading = stand.with({ walletClient: createWalletClient({ account: stand.address, transport }) });
    stand.wallet.next = () => Promise.reject(failure(4001, "the user rejected the request"));
    const error = await refusal(trading.openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "USER_REJECTED", outcome: "notSent" });
    expect((await trading.openPosition(ORDER, { waitFor: "sent" })).txHash).toMatch(/^0x/);
    expect(await waitingOrders(stand)).toBe(1n);
  });
});

describe("a wallet whose chain is not known right before it is asked", () => {
  /** Its answer is awaited by the latest read. */
  async function start(chainId: Answer) {
    let end = (): void => {};
    const timeouts = { ...PATIENT, readMs: 1e9 };
    const clock = pausingClock();
    const ending: TradingClock = {
      ...clock,
      after(ms, callback) {
        if (ms === timeouts.readMs) end = callback;
        return clock.after(ms, callback);
      },
    };
    const stand = await startApproved(world, { clock: ending, timeouts });
    const transport = transportOf(stand.wallet.client(), (request, forward) => {
      const isAsking = stand.steps.some(({ step }) => step === "sign");
      return isAsking && request.method === "eth_chainId" ? chainId(request, forward) : forward(request);
    });
    const walletClient = createWalletClient({ account: stand.address, transport });
    return { stand, trading: stand.with({ walletClient }), endRead: () => end() };
  }

  it("since the read fails is not asked", async () => {
    const { stand, trading } = await start(() => Promise.reject(failure(-32000, "no answer of the node")));
    const error = await refusal(trading.openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ outcome: "notSent", stage: "trade" });
    expect(stand.signed()).toEqual([]);
  });

  it("since the read hangs is not asked, nor once it answers", async () => {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { stand, trading, endRead } = await start(async (request, forward) => {
      setImmediate(() => endRead());
      await answered;
      return forward(request);
    });
    const error = await refusal(trading.openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "WALLET_DISCONNECTED", outcome: "notSent", stage: "trade" });
    answer();
    expect(await waitingOrders(stand)).toBe(0n);
    expect(stand.signed()).toEqual([]);
  });
});

describe("a wallet that answers with no hash", () => {
  it.each([null, "", "0x", { hash: "0x1" }])("but with %j has an unknown outcome, at once", async (answer) => {
    const stand = await startApproved(world);
    stand.wallet.next = () => Promise.resolve(answer as never);
    const error = await refusal(stand.trading.openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown", txHash: null });
    expect(stand.steps.map(({ step }) => step)).toEqual(["sign"]);
    expect((await stand.trading.openPosition(ORDER, { waitFor: "sent" })).txHash).toMatch(/^0x/);
  });
});

describe("a signed transaction that the first of two nodes takes without an answer", () => {
  it.each(["transaction underpriced: tip is too low", "insufficient funds for gas * price + value"])(
    "and that the second refuses with %j has an unknown outcome and its hash",
    async (text) => {
      const key = nextKey();
      const { walletClient: one } = keyClients(world, key);
      const takes = transportOf(one, async (request, forward) => {
        const answer = await forward(request);
        if (request.method === "eth_sendRawTransaction") throw new Error("socket hang up");
        return answer;
      });
      const refuses = transportOf(one, (request, forward) =>
        request.method === "eth_sendRawTransaction" ? Promise.reject(failure(-32000, text)) : forward(request),
      );
      const transport = fallback([takes, refuses], ONCE);
      const walletClient = createWalletClient({ account: privateKeyToAccount(key), transport });
      const stand = await startApproved(world, { key, walletClient });
      const error = await refusal(stand.trading.openPosition(ORDER, { waitFor: "sent" }));
      expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown" });
      expect(error.txHash).toMatch(/^0x/);
      expect(await waitingOrders(stand)).toBe(1n);
    },
  );
});
