/** What may have left is asked for once, and never reported as not sent, whichever transports and wallets a page has. */
import { createWalletClient, custom, type EIP1193RequestFn, fallback } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { keyClients, nextKey, ORDER, refusal, type Stand, startApproved } from "./stand.js";

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
function transportOf(client: { readonly request: unknown }, answer: Answer = (request, forward) => forward(request)) {
  const forward = client.request as (request: Request) => Promise<unknown>;
  return custom({ request: ((request: Request) => answer(request, forward)) as unknown as EIP1193RequestFn }, ONCE);
}

/** The wallet has sent, and then fails. */
function sendsAndFails({ wallet }: Stand): void {
  wallet.next = async (send) => {
    await send();
    throw failure(-32000, "already known");
  };
}

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
    const node = transportOf(stand.wallet.client(), (request, forward) =>
      request.method.endsWith("sendTransaction")
        ? Promise.reject(failure(-32601, "the method does not exist"))
        : forward(request),
    );
    const transport = fallback([transportOf(stand.wallet.client()), node], ONCE);
    sendsAndFails(stand);
    const walletClient = createWalletClient({ account: stand.address, transport });
    const error = await refusal(stand.with({ walletClient }).openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown" });
    expect(await waitingOrders(stand)).toBe(1n);
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
