/** Money of a wallet at venueone, by its room's rails against the local venue and its chain: in, out, lost on the way. */
import type { Hex } from "viem";
import { describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { WithdrawalAsk } from "../../../engine/venue-money.js";
import { EvmChain } from "../../../feeds/shared/chain/evm-chain.js";
import { createVenueoneTrading } from "../../../feeds/venueone/trading.js";
import { startChainWorld } from "../../sim/chain/world.js";
import { WORLD } from "../../sim/chain/world-plan.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import { startVenueoneSim, type VenueoneSim } from "../../sim/venueone/sim.js";
import { startChainWallet, tokenOf } from "../support/trading/chain-wallet.js";
import { signText, stranger, WALLET, WALLET_KEY } from "../support/trading/wallet-keys.js";
import { halfDeps, OPTIONS, untilHolds, unwrapRead } from "../support/trading-half.js";

const CHAIN_ID = 42161;
const CONFIRMATIONS = 3;
const BRIDGE = WORLD[CHAIN_ID].bridge as Hex;
const ELSEWHERE: Hex = "0x00000000000000000000000000000000000000dd";
const done = { kind: "done", venueId: expect.stringMatching(/^\d{13}$/) };

async function scene({ funds = "10000" as string | null } = {}) {
  const world = await startChainWorld({ chainIds: [CHAIN_ID], mining: { kind: "manual" } });
  onTestFinished(() => world.stop());
  const clock = new VirtualClock();
  const sim = await startVenueoneSim({
    ...{ seed: 7, clock, symbols: ["BTC"], limits: { ipWeightPerMinute: 1_000_000 }, flow: null },
    accounts: funds === null ? [] : [{ address: WALLET, deposit: funds, spotDeposit: "50" }],
    chains: { rpcUrls: world.rpcUrls, confirmations: 1 },
  });
  onTestFinished(() => sim.stop());
  const deps = halfDeps(sim.restUrl, clock, () => new Map());
  onTestFinished(() => deps.http.close(0));
  const moneyRoute = { ...tokenOf(CHAIN_ID, "USDC"), bridge: BRIDGE, minimum: 5_000_000n };
  const { money } = createVenueoneTrading({ ...deps, numberOf: () => null, moneyRoute });
  const look = () => control(sim, "chains");
  const token = money.withdrawals.token(CHAIN_ID, "USDC");
  if (token === null) throw new Error("no token");
  const ask: WithdrawalAsk = {
    ...{ account: WALLET, receiver: ELSEWHERE, token, amount: 100_250_000n, accountType: null },
  };
  return {
    ...{ world, clock, sim, money, rail: money.withdrawals, ask, look },
    async blocks(count: number) {
      await look();
      for (let block = 0; block < count; block++) {
        await world.chain(CHAIN_ID).mine();
        await look();
      }
    },
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

async function control(sim: VenueoneSim, name: string): Promise<void> {
  const answer = await fetch(`${sim.restUrl}/_sim/${name}`, { method: "POST", body: "{}" });
  if (!answer.ok) throw new Error(await answer.text());
}

async function signed(on: Scene, ask = on.ask, by?: typeof stranger) {
  const made = await on.rail.make(ask, 0n);
  if (!made.ok) throw new Error(made.problem);
  return { ask, act: made.act, sentAtMs: on.clock.wallMs(), signature: await signText(made.act.toSign, by) };
}

type Signed = Awaited<ReturnType<typeof signed>>;

const send = (on: Scene, { act, signature }: Signed) => on.rail.send(act, signature, null, OPTIONS);

async function standing(on: Scene, { ask, act, sentAtMs }: Signed) {
  return unwrapRead(
    await on.rail.look(
      { ask, fee: 1_000_000n, request: act.request, sentAtMs, venueId: null, isOthers: async () => false },
      null,
      OPTIONS,
    ),
  );
}

/** As the service reads it. */
function chainOf({ world, clock }: Scene): EvmChain {
  const gasLimits = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
  const urls = [world.chain(CHAIN_ID).rpcUrl];
  const common = { clock, random: createSeededRandom(1), logger: silentLogger };
  const chain = new EvmChain({ ...common, chainId: CHAIN_ID, urls, confirmations: CONFIRMATIONS, gasLimits });
  onTestFinished(() => chain.close(0));
  return chain;
}

const available = async (on: Scene) => unwrapRead(await on.rail.terms(on.ask, null, OPTIONS)).available;
const paid = (on: Scene) => on.world.balance(CHAIN_ID, "USDC", ELSEWHERE);

describe("a deposit at venueone", () => {
  it("reaches the bridge, and is credited to a wallet that the venue never saw", async () => {
    const on = await scene({ funds: null });
    const route = on.money.deposits.route(CHAIN_ID, "USDC");
    if (route === null) throw new Error("no route");
    const payer = await startChainWallet(on.world, CHAIN_ID, "USDC", WALLET_KEY);
    const sentAtMs = on.clock.wallMs();
    const { hash, logs, succeeded } = await payer.deposit(route, 12_500_000n);
    expect([succeeded, route.taken(logs, WALLET)]).toEqual([true, 12_500_000n]);
    const deposit = { account: WALLET, hash, chainId: CHAIN_ID, amount: 12_500_000n, sentAtMs };
    expect(unwrapRead(await on.money.deposits.look(deposit, null, OPTIONS))).toEqual([]);
    await on.look();
    expect(unwrapRead(await on.money.deposits.look(deposit, null, OPTIONS))).toEqual([
      expect.stringMatching(/^0x[0-9a-f]{64}$/),
    ]);
    expect(await available(on)).toBe(12_500_000n);
    on.clock.advance(10_000);
    const later = { ...deposit, sentAtMs: on.clock.wallMs() };
    expect(unwrapRead(await on.money.deposits.look(later, null, OPTIONS))).toEqual([]);
  });
});

describe("a withdrawal at venueone", () => {
  it("leaves the account at once under its own number, and reaches any address on chain less the fee", async () => {
    const on = await scene();
    expect(unwrapRead(await on.rail.terms(on.ask, null, OPTIONS))).toEqual({
      ...{ fee: 1_000_000n, minimum: 1_000_001n, available: 10_000_000_000n, feeIsInside: true },
    });
    const ours = await signed(on);
    expect(await standing(on, ours)).toEqual({ kind: "absent" });
    const outcome = await send(on, ours);
    expect(outcome).toEqual(done);
    expect(await available(on)).toBe(9_899_750_000n);
    const venueId = outcome.kind === "done" ? outcome.venueId : "";
    expect(await standing(on, ours)).toEqual({ kind: "left", venueId, hash: null, paid: 99_250_000n, fee: 1_000_000n });
    await on.blocks(2);
    expect(await paid(on)).toBe("99.25");
  });

  it("is found on the chain once its payment is final, by its own number alone", async () => {
    const on = await scene();
    const [ours, like] = [await signed(on), await signed(on)];
    for (const one of [ours, like]) expect(await send(on, one)).toEqual(done);
    const chain = chainOf(on);
    const paidOn = async ({
      ask,
      act: { request },
      sentAtMs,
    }: Signed): Promise<readonly [hash: string, paid: bigint][]> => {
      const event = on.rail.payoutEvent?.({ ask, request, sentAtMs, fee: 1_000_000n, shown: null }) ?? null;
      if (event === null) throw new Error("no event");
      const fromHeight = unwrapRead(await chain.logs.heightAt(event.sinceMs, OPTIONS));
      const { logs } = unwrapRead(await chain.logs.final({ ...event, fromHeight }, OPTIONS));
      return logs.flatMap((log) => {
        const amount = event.paid(log);
        return amount === null ? [] : [[log.hash, amount] as const];
      });
    };
    expect(await paidOn(ours)).toEqual([]);
    // Each is requested, then paid; the venue waits for a block between the two.
    await on.blocks(4);
    await on.world.chain(CHAIN_ID).mine(CONFIRMATIONS);
    const [[hash], [other]] = [await paidOn(ours), await paidOn(like)];
    expect([hash?.[1], other?.[1]]).toEqual([99_250_000n, 99_250_000n]);
    expect(hash?.[0]).not.toBe(other?.[0]);
    await on.world.chain(CHAIN_ID).reorg(CONFIRMATIONS + 4);
    expect(await paidOn(ours)).toEqual([]);
  });

  it("is the venue's once, however often the same bytes come", async () => {
    const on = await scene();
    const ours = await signed(on);
    expect(await send(on, ours)).toEqual(done);
    for (let again = 0; again < 2; again++) expect(await send(on, ours)).toEqual({ kind: "repeated" });
    await on.blocks(2);
    expect(await paid(on)).toBe("99.25");
  });

  it("of the same amount a moment later is another one", async () => {
    const on = await scene();
    const [first, second] = [await signed(on), await signed(on)];
    expect(await send(on, second)).toEqual(done);
    expect(await standing(on, first)).toEqual({ kind: "absent" });
    expect(await standing(on, second)).toMatchObject({ kind: "left" });
  });

  it.each<[fault: FaultSpec, kind: "absent" | "left"]>([
    [{ kind: "replyLost", match: "/exchange", count: 1 }, "left"],
    [{ kind: "errorAfter", match: "/exchange", count: 1 }, "left"],
    [{ kind: "errorBefore", match: "/exchange", count: 1 }, "absent"],
    [{ kind: "loss", match: "/exchange", count: 1 }, "absent"],
  ])("whose answer says nothing is looked up, and sent again without harm: %j", async (fault, kind) => {
    const on = await scene();
    const ours = await signed(on);
    on.sim.faults.add(fault);
    expect(await send(on, ours)).toEqual({ kind: "unknown" });
    expect(await standing(on, ours)).toMatchObject({ kind });
    expect(await send(on, ours)).toEqual(kind === "left" ? { kind: "repeated" } : done);
    expect(await standing(on, ours)).toMatchObject({ kind: "left" });
    await on.blocks(2);
    expect(await paid(on)).toBe("99.25");
  });

  it("held at the venue's door while its sender gives up arrives late, and is then found", async () => {
    const on = await scene();
    const ours = await signed(on);
    on.sim.faults.add({ kind: "heldRequest", match: "/exchange", count: 1, delayMs: 10_000 });
    const sending = send(on, ours);
    await untilHolds("a request at the door", () => on.sim.faults.hits().heldRequest === 1);
    await on.clock.advanceAsync(OPTIONS.timeoutMs);
    expect(await sending).toEqual({ kind: "unknown" });
    expect(await standing(on, ours)).toEqual({ kind: "absent" });
    await on.clock.advanceAsync(10_000);
    expect(await standing(on, ours)).toMatchObject({ kind: "left" });
    expect(await send(on, ours)).toEqual({ kind: "repeated" });
  });

  it("of more than there is, or of a wallet without a deposit, is refused for its balance", async () => {
    const on = await scene();
    expect(await send(on, await signed(on, { ...on.ask, amount: 10_000_000_001n }))).toMatchObject({
      ...{ kind: "refused", reason: "BALANCE", venueText: "Insufficient balance for withdrawal." },
    });
    const unseen = await scene({ funds: null });
    expect(await send(unseen, await signed(unseen))).toMatchObject({ kind: "refused", reason: "BALANCE" });
  });

  it("signed by somebody else is refused, and takes nothing", async () => {
    const on = await scene();
    const foreign = await signed(on, on.ask, stranger);
    expect(await send(on, foreign)).toMatchObject({ kind: "refused", reason: "OTHER" });
    expect(await standing(on, foreign)).toEqual({ kind: "absent" });
    expect(await available(on)).toBe(10_000_000_000n);
  });

  it("past a limit of the venue is refused", async () => {
    const on = await scene();
    on.sim.faults.add({ kind: "rate429", match: "/exchange", count: 1, retryAfterS: 2 });
    expect(await send(on, await signed(on))).toMatchObject({ reason: "RATE_LIMITED", retryAfterMs: 2_000 });
  });

  it("that comes after its time acts no more", async () => {
    const on = await scene();
    const ours = await signed(on);
    on.clock.advance(ours.act.validUntilMs - on.clock.wallMs() + 1);
    expect(await send(on, ours)).toMatchObject({ kind: "refused", reason: "OTHER" });
    expect(await standing(on, ours)).toEqual({ kind: "absent" });
  });
});

describe("balances at venueone", () => {
  it("are those of both accounts", async () => {
    const on = await scene();
    expect(unwrapRead(await on.money.balances(WALLET, null, OPTIONS))).toEqual([
      { accountType: "perp", asset: "USDC", free: "10000.0" },
      { accountType: "spot", asset: "USDC", free: "50" },
    ]);
  });
});
