/** What the bridge's event says of a withdrawal, and of which one. */
import { describe, expect, it } from "vitest";
import type { ChainLog } from "../../../engine/chain.js";
import { addressTopic } from "../../shared/sign/contract-log.js";
import { createHarness, SIGNER } from "../test/trading-harness.js";

const BRIDGE = "0x2df1c51e09aecf9cacb7bc98cb1742757f163df7";
/** keccak256 of the event's signature, as the fact sheet has it. */
const FINALIZED = "0xe5c7fe3a4ffca1590f26d74c8ba8b0db69557f7f4607a2a43f82e93041611978";
const RECEIVER = "0x5e9ee1089755c3435139848e47e6635505d5a13a";
const OTHER = "0x00000000000000000000000000000000000000dd";
const word = (value: bigint | number | string) => BigInt(value).toString(16).padStart(64, "0");

interface Paid {
  readonly user: string;
  readonly destination: string;
  readonly usd: bigint;
  readonly nonce: number;
}

function logOf({ user, destination, usd, nonce }: Paid): ChainLog {
  const words = [word(destination), word(usd), word(nonce), "ab".repeat(32)].join("");
  const topics = [FINALIZED, addressTopic(user)];
  return { address: BRIDGE, topics, data: new Uint8Array(Buffer.from(words, "hex")) };
}

async function scene(shown: bigint | null = null) {
  const { clock, trading } = createHarness();
  const rail = trading.money.withdrawals;
  const token = rail.token(42161, "USDC");
  if (token === null) throw new Error("no token");
  const ask = { account: SIGNER, receiver: RECEIVER, token, amount: 25_500_000n, accountType: null };
  const made = await rail.make(ask, 1_000_000n);
  if (!made.ok) throw new Error(made.problem);
  const { request } = made.act;
  const sentAtMs = clock.wallMs();
  const event = rail.payoutEvent?.({ ask, request, sentAtMs, fee: 1_000_000n, shown }) ?? null;
  if (event === null) throw new Error("no event");
  const nonce = (JSON.parse(request) as { action: { time: number } }).action.time;
  return { rail, ask, event, clock, ours: { user: SIGNER, destination: RECEIVER, usd: 24_500_000n, nonce } };
}

function requestAt(time: number) {
  const network = { signatureChainId: "0xa4b1", hyperliquidChain: "Mainnet" };
  return { account: SIGNER, action: { type: "withdraw3", ...network, destination: RECEIVER, amount: "25.5", time } };
}

describe("a payment of venueone's bridge", () => {
  it("is searched for by the wallet, from a while before its act", async () => {
    const { event, ours } = await scene();
    expect(event).toMatchObject({
      ...{ contract: BRIDGE, topics: [FINALIZED, addressTopic(SIGNER)], sinceMs: ours.nonce - 600_000 },
    });
  });

  it("is searched for from its send, where the wallet has used times that are ahead", async () => {
    const { rail, ask, ours } = await scene();
    const request = JSON.stringify(requestAt(ours.nonce + 7_200_000));
    const event = rail.payoutEvent?.({ ask, request, sentAtMs: ours.nonce, fee: 1_000_000n, shown: null });
    expect(event?.sinceMs).toBeLessThanOrEqual(ours.nonce - 600_000 + 5_000);
  });

  it("is the withdrawal's by its number, its receiver and its amount less the fee", async () => {
    const { event, ours } = await scene();
    expect(event.paid(logOf(ours))).toBe(24_500_000n);
  });

  it("may be of what the venue's ledger shows, where its fee was another one", async () => {
    const { event, ours } = await scene(25_000_000n);
    expect(event.paid(logOf({ ...ours, usd: 25_000_000n }))).toBe(25_000_000n);
  });

  it("is what the venue's ledger names, however high its fee was", async () => {
    const { rail, ask, ours } = await scene();
    const eventOf = (shown: bigint, fee: bigint) =>
      rail.payoutEvent?.({ ask, request: JSON.stringify(requestAt(ours.nonce)), sentAtMs: ours.nonce, fee, shown });
    // The figure has the fee in it or not, and what was asked for had it in it or not.
    expect(eventOf(20_000_000n, 5_500_000n)?.paid(logOf({ ...ours, usd: 20_000_000n }))).toBe(20_000_000n);
    expect(eventOf(25_500_000n, 5_500_000n)?.paid(logOf({ ...ours, usd: 20_000_000n }))).toBe(20_000_000n);
    expect(eventOf(20_000_000n, 1_000_000n)?.paid(logOf({ ...ours, usd: 20_000_000n }))).toBe(20_000_000n);
    for (const usd of [19_999_999n, 20_000_001n, 14_500_000n])
      expect(eventOf(20_000_000n, 5_500_000n)?.paid(logOf({ ...ours, usd }))).toBeNull();
  });

  it("may be less by a few of its fees, where the venue has raised them since, and by no more", async () => {
    const { event, ours } = await scene(25_500_000n);
    expect(event.paid(logOf({ ...ours, usd: 23_500_000n }))).toBe(23_500_000n);
    expect(event.paid(logOf({ ...ours, usd: 21_500_000n }))).toBe(21_500_000n);
    expect(event.paid(logOf({ ...ours, usd: 21_499_999n }))).toBeNull();
  });

  it("is of something, also where the fees are more than the amount", async () => {
    const { rail, ask, ours } = await scene();
    const request = JSON.stringify(requestAt(ours.nonce));
    const small = { ask: { ...ask, amount: 3_000_000n }, request, sentAtMs: ours.nonce, fee: 1_000_000n, shown: null };
    const event = rail.payoutEvent?.(small);
    expect(event?.paid(logOf({ ...ours, usd: 1n }))).toBe(1n);
    expect(event?.paid(logOf({ ...ours, usd: 0n }))).toBeNull();
  });

  it("may be of all that was asked for, where the fee came on top of it", async () => {
    const { event, ours } = await scene(26_500_000n);
    expect(event.paid(logOf({ ...ours, usd: 25_500_000n }))).toBe(25_500_000n);
  });

  it.each<[what: string, change: (paid: Paid) => Partial<Paid>]>([
    ["another wallet", () => ({ user: OTHER })],
    ["another number", ({ nonce }) => ({ nonce: nonce + 1 })],
    ["another receiver", () => ({ destination: OTHER })],
    ["more than was asked for", () => ({ usd: 25_500_001n })],
  ])("of %s is none of it", async (_, change) => {
    const { event, ours } = await scene();
    expect(event.paid(logOf({ ...ours, ...change(ours) }))).toBeNull();
  });

  it("is no other event, no other contract's, and none that is cut off", async () => {
    const { event, ours } = await scene();
    const log = logOf(ours);
    expect(event.paid({ ...log, topics: [`0x${"cc".repeat(32)}`, addressTopic(SIGNER)] })).toBeNull();
    expect(event.paid({ ...log, address: OTHER })).toBeNull();
    expect(event.paid({ ...log, data: log.data.subarray(0, 96) })).toBeNull();
  });

  it("is not searched for by an act of another program", async () => {
    const { rail, ask } = await scene();
    expect(rail.payoutEvent?.({ ask, request: "{}", sentAtMs: 1, fee: 1n, shown: null })).toBeNull();
  });
});
