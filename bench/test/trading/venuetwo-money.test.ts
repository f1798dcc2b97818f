/** Money of a wallet at venuetwo, by its room's rails against the local venue and its chains: in, across, out, lost on the way. */
import { describe, expect, it, onTestFinished } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AgentRegistrar } from "../../../engine/key-registrar.js";
import type { AccountSession } from "../../../engine/ports.js";
import type { WithdrawalAsk, WithdrawalRail } from "../../../engine/venue-money.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";
import { storedCopy } from "../../../feeds/shared/test/stored-copy.js";
import { createVenuetwoTrading } from "../../../feeds/venuetwo/trading.js";
import { type ChainWorld, startChainWorld } from "../../sim/chain/world.js";
import { WORLD, type WorldChainId } from "../../sim/chain/world-plan.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import type { VenuetwoSim } from "../../sim/venuetwo/sim.js";
import { API_KEY, API_SECRET, startTestVenue } from "../../sim/venuetwo/test/support.js";
import { startChainWallet, tokenOf } from "../support/trading/chain-wallet.js";
import { signText, wallet, WALLET, WALLET_KEY, WalletKeys } from "../support/trading/wallet-keys.js";
import { halfDeps, open, OPTIONS, untilHolds, unwrapRead } from "../support/trading-half.js";

const ONE = 10n ** 18n;
const HERE = ["127.0.0.1"];

interface Options {
  readonly chainIds?: readonly WorldChainId[];
  /** From where the wallet's agent may withdraw; empty: it may not. */
  readonly ipWhitelist?: readonly string[];
}

async function scene({ chainIds = [56], ipWhitelist = HERE }: Options = {}) {
  const world = await startChainWorld({ chainIds, mining: { kind: "manual" } });
  onTestFinished(() => world.stop());
  const clock = new VirtualClock();
  const accounts = [
    {
      ...{ accountId: WALLET, deposit: "10000", spotDeposit: "500", apiKey: API_KEY, apiSecret: API_SECRET },
      wallet: wallet.address,
    },
  ];
  const chains = { rpcUrls: world.rpcUrls, confirmations: 1 };
  const venue = await startTestVenue({ clock, flow: null, chains, accounts });
  onTestFinished(() => venue.stop());
  const nonces = createMemoryReservations();
  const halfOf = () => {
    const deps = { ...halfDeps(venue.restUrl, clock, () => new Map()), nonces };
    onTestFinished(() => deps.http.close(0));
    const routes = chainIds.map((chainId) => ({
      ...{ ...tokenOf(chainId, "USDT"), vault: WORLD[chainId].vault, minimum: 1n },
    }));
    const money = { spotHttp: deps.http, webHttp: deps.http, routes };
    return createVenuetwoTrading({ ...deps, money, keys: { agentDays: 90, ipWhitelist, webHttp: null } });
  };
  const half = halfOf();
  const registrar = half.keys as AgentRegistrar;
  const { key, secret } = await new WalletKeys(registrar, clock).approved();
  const block = registrar.block(key, storedCopy(secret));
  const look = () => control(venue, "chains");
  return {
    ...{ world, clock, venue, half, look, money: half.money },
    session: open(half, block),
    /** Another process with the same agent, which has asked nothing yet. */
    another() {
      const fresh = halfOf();
      return { rail: fresh.money.withdrawals, session: open(fresh, block) };
    },
    /** The venue looks, pays what it owes in a block, and looks again. */
    async payOut(chainId: WorldChainId = 56) {
      await look();
      await world.chain(chainId).mine();
      await look();
    },
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

async function control(venue: VenuetwoSim, name: string, body: object = {}): Promise<void> {
  const answer = await fetch(`${venue.restUrl}/_sim/${name}`, { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

function askOf({ money }: Scene, changes: Partial<WithdrawalAsk> = {}, chainId: WorldChainId = 56): WithdrawalAsk {
  const token = money.withdrawals.token(chainId, "USDT");
  if (token === null) throw new Error("no token");
  return { account: WALLET, receiver: WALLET, token, amount: 30n * ONE, accountType: "perp", ...changes };
}

/** An act signed by the wallet, with the fee of the terms. */
async function signed(on: Scene, ask: WithdrawalAsk) {
  const terms = unwrapRead(await on.money.withdrawals.terms(ask, on.session, OPTIONS));
  const made = await on.money.withdrawals.make(ask, terms.fee);
  if (!made.ok) throw new Error(made.problem);
  const sentAtMs = on.clock.wallMs();
  return { ask, terms, act: made.act, sentAtMs, signature: await signText(made.act.toSign) };
}

type Signed = Awaited<ReturnType<typeof signed>>;

const send = (on: Scene, { act, signature }: Signed, rail: WithdrawalRail = on.money.withdrawals, by = on.session) =>
  rail.send(act, signature, by, OPTIONS);

async function standing(on: Scene, { ask, act, sentAtMs, terms }: Signed, venueId: string | null = null) {
  const withdrawal = { ask, fee: terms.fee, request: act.request, sentAtMs, venueId, isOthers: async () => false };
  return unwrapRead(await on.money.withdrawals.look(withdrawal, on.session, OPTIONS));
}

async function free(on: Scene, accountType: "spot" | "perp", session: AccountSession = on.session): Promise<string> {
  const rows = unwrapRead(await on.money.balances(WALLET, session, OPTIONS));
  return rows.find((row) => row.accountType === accountType && row.asset === "USDT")?.free ?? "none";
}

const balanceOf = (world: ChainWorld, chainId: WorldChainId = 56) => world.balance(chainId, "USDT", wallet.address);

describe("a deposit at venuetwo", () => {
  it.each([56, 1] as const)("on chain %s is taken by the vault, and credited to the spot account", async (chainId) => {
    const on = await scene({ chainIds: [chainId] });
    const route = on.money.deposits.route(chainId, "USDT");
    if (route === null) throw new Error("no route");
    const amount = 12n * 10n ** BigInt(route.token.decimals) + 1n;
    const payer = await startChainWallet(on.world, chainId, "USDT", WALLET_KEY);
    const sentAtMs = on.clock.wallMs();
    const { hash, logs, succeeded } = await payer.deposit(route, amount);
    expect([succeeded, route.taken(logs, WALLET)]).toEqual([true, amount]);
    const deposit = { account: WALLET, hash, chainId, amount, sentAtMs };
    expect(unwrapRead(await on.money.deposits.look(deposit, on.session, OPTIONS))).toEqual([]);
    await on.look();
    const credited = unwrapRead(await on.money.deposits.look(deposit, on.session, OPTIONS));
    expect(credited).toEqual([expect.stringContaining(hash)]);
    expect(await free(on, "spot")).toBe(chainId === 1 ? "512.00000100" : "512.00000000");
  });
});

describe("a transfer at venuetwo", () => {
  const ask = {
    account: WALLET,
    asset: "USDT",
    amount: "100.5",
    kindType: "SPOT_FUTURE",
    clientTranId: "t-1",
  } as const;
  const internal = ({ money }: Scene) => {
    if (money.internal === null) throw new Error("no transfers");
    return money.internal;
  };

  it("moves money from one account to the other, once under its name", async () => {
    const on = await scene();
    expect(await internal(on).send(ask, on.session, OPTIONS)).toEqual({
      kind: "done",
      venueId: expect.stringMatching(/^\d+$/),
    });
    expect([await free(on, "spot"), await free(on, "perp")]).toEqual(["399.50000000", "10100.50000000"]);
    expect(await internal(on).send(ask, on.session, OPTIONS)).toEqual({ kind: "repeated" });
    const back = { ...ask, kindType: "FUTURE_SPOT", clientTranId: "t-2", amount: "600" } as const;
    expect(await internal(on).send(back, on.session, OPTIONS)).toMatchObject({ kind: "done" });
    expect([await free(on, "spot"), await free(on, "perp")]).toEqual(["999.50000000", "9500.50000000"]);
  });

  it("of more than there is is refused", async () => {
    const on = await scene();
    const tooMuch = { ...ask, amount: "500.01" };
    expect(await internal(on).send(tooMuch, on.session, OPTIONS)).toMatchObject({ kind: "refused", reason: "BALANCE" });
    expect(await free(on, "spot")).toBe("500.00000000");
  });

  it("whose reply is lost is found, and moves nothing when it is sent again", async () => {
    const on = await scene();
    const sentAtMs = on.clock.wallMs();
    expect(unwrapRead(await internal(on).look(ask, sentAtMs, on.session, OPTIONS))).toEqual([]);
    on.venue.faults.add({ kind: "replyLost", match: "wallet/transfer", count: 1 });
    expect(await internal(on).send(ask, on.session, OPTIONS)).toEqual({ kind: "unknown" });
    expect(await internal(on).send(ask, on.session, OPTIONS)).toEqual({ kind: "repeated" });
    expect(unwrapRead(await internal(on).look(ask, sentAtMs, on.session, OPTIONS))).toEqual([
      expect.stringMatching(/^\d+$/),
    ]);
    expect(await free(on, "spot")).toBe("399.50000000");
  });
});

describe("a withdrawal at venuetwo", () => {
  it.each(["perp", "spot"] as const)("from the %s account is paid to the wallet on chain", async (accountType) => {
    const on = await scene();
    const ours = await signed(on, askOf(on, { accountType }));
    const available = (accountType === "perp" ? 10_000n : 500n) * ONE;
    expect(ours.terms).toEqual({
      ...{ fee: 255_000_000_000_000n, minimum: 255_000_000_000_001n, available, feeIsInside: false },
    });
    const done = await send(on, ours);
    expect(done).toEqual({ kind: "done", venueId: expect.stringMatching(/^\d{19}$/) });
    const venueId = done.kind === "done" ? done.venueId : null;
    expect(await free(on, accountType)).toBe(accountType === "perp" ? "9969.99974500" : "469.99974500");
    for (const id of [venueId, null])
      expect(await standing(on, ours, id)).toEqual({ kind: "pending", venueId, hash: null, paid: null });
    expect(await balanceOf(on.world)).toBe("0");
    await on.payOut();
    const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/);
    expect(await standing(on, ours, venueId)).toEqual({ kind: "completed", venueId, hash, paid: 30n * ONE });
    expect(await balanceOf(on.world)).toBe("30");
  });

  it("goes by a key with a secret too, and on a chain where the token has six places", async () => {
    const on = await scene({ chainIds: [42161] });
    const key = open(on.half, { apiKey: API_KEY, apiSecret: API_SECRET, walletAddress: WALLET });
    const ours = await signed(on, askOf(on, { amount: 12_345_678n }, 42161));
    expect(ours.terms.fee).toBe(30_000n);
    expect(await send(on, ours, on.money.withdrawals, key)).toMatchObject({ kind: "done" });
    await on.payOut(42161);
    expect(await balanceOf(on.world, 42161)).toBe("12.345678");
    expect(await standing(on, ours)).toMatchObject({ kind: "completed", paid: 12_345_678n });
  });

  it("is refused to an agent without the right, by what the venue lists of it or by the venue itself", async () => {
    const on = await scene({ ipWhitelist: [] });
    const ask = askOf(on);
    expect(await on.money.withdrawals.terms(ask, on.session, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    const made = await on.money.withdrawals.make(ask, ONE);
    if (!made.ok) throw new Error(made.problem);
    const signature = await signText(made.act.toSign);
    const attempts = () => on.venue.log.records({ action: "withdraw" }).length;
    const refused = { kind: "refused", reason: "RIGHT" };
    expect(await on.money.withdrawals.send(made.act, signature, on.session, OPTIONS)).toMatchObject(refused);
    const { rail, session } = on.another();
    expect(await rail.send(made.act, signature, session, OPTIONS)).toMatchObject(refused);
    expect(attempts()).toBe(0);
    expect(await free(on, "perp")).toBe("10000.00000000");
  });

  it("of more than there is, and signed by somebody else, is refused and takes nothing", async () => {
    const on = await scene();
    const tooMuch = await signed(on, askOf(on, { amount: 10_000n * ONE }));
    expect(await send(on, tooMuch)).toMatchObject({ kind: "refused", reason: "BALANCE" });
    const ours = await signed(on, askOf(on));
    const foreign = { ...ours, signature: (await signed(on, askOf(on, { amount: ONE }))).signature };
    expect(await send(on, foreign)).toMatchObject({ kind: "refused", reason: "OTHER" });
    expect(await standing(on, ours)).toEqual({ kind: "absent" });
    expect(await free(on, "perp")).toBe("10000.00000000");
  });

  it("sent a second time is the first one where the venue counts nonces, and another one where it does not", async () => {
    const on = await scene();
    const ours = await signed(on, askOf(on));
    expect(await send(on, ours)).toMatchObject({ kind: "done" });
    expect(await send(on, ours)).toEqual({ kind: "repeated" });
    expect(await free(on, "perp")).toBe("9969.99974500");
    await control(on.venue, "withdrawals", { repeatedNonce: "accept" });
    expect(await send(on, ours)).toMatchObject({ kind: "done" });
    expect(await free(on, "perp")).toBe("9939.99949000");
  });

  it.each<[fault: FaultSpec, kind: "absent" | "pending"]>([
    [{ kind: "replyLost", match: "aster/user-withdraw", count: 1 }, "pending"],
    [{ kind: "errorAfter", match: "aster/user-withdraw", count: 1 }, "pending"],
    [{ kind: "errorBefore", match: "aster/user-withdraw", count: 1 }, "absent"],
    [{ kind: "loss", match: "aster/user-withdraw", count: 1 }, "absent"],
  ])("whose answer says nothing is looked up: %j", async (fault, kind) => {
    const on = await scene();
    await control(on.venue, "withdrawals", { repeatedNonce: "accept" });
    const ours = await signed(on, askOf(on));
    on.venue.faults.add(fault);
    expect(await send(on, ours)).toEqual({ kind: "unknown" });
    expect(on.venue.faults.active()).toEqual([]);
    expect(await standing(on, ours)).toMatchObject({ kind });
    await on.payOut();
    expect(await balanceOf(on.world)).toBe(kind === "pending" ? "30" : "0");
    expect(await standing(on, ours)).toMatchObject({ kind: kind === "pending" ? "completed" : "absent" });
  });

  it("held at the venue's door while its sender gives up arrives late, and is then found", async () => {
    const on = await scene();
    const ours = await signed(on, askOf(on));
    on.venue.faults.add({ kind: "heldRequest", match: "aster/user-withdraw", count: 1, delayMs: 8_000 });
    const sending = send(on, ours);
    await untilHolds("a request at the door", () => on.venue.faults.hits().heldRequest === 1);
    await on.clock.advanceAsync(OPTIONS.timeoutMs);
    expect(await sending).toEqual({ kind: "unknown" });
    expect(await standing(on, ours)).toEqual({ kind: "absent" });
    await on.clock.advanceAsync(8_000);
    expect(await standing(on, ours)).toMatchObject({ kind: "pending" });
  });

  it("that the vault cannot pay has failed, and the money is back", async () => {
    const on = await scene();
    on.venue.exchange.desk.adjustWallet(WALLET, 5_000_000n * 10n ** 12n, "ADJUSTMENT");
    const ours = await signed(on, askOf(on, { amount: 900_000n * ONE }));
    const rest = await signed(on, askOf(on, { amount: 900_001n * ONE }));
    expect(await send(on, ours)).toMatchObject({ kind: "done" });
    expect(await send(on, rest)).toMatchObject({ kind: "done" });
    await on.payOut();
    await on.payOut();
    expect(await standing(on, ours)).toMatchObject({ kind: "completed" });
    expect(await standing(on, rest)).toMatchObject({ kind: "failed", venueId: expect.any(String) });
    expect(await free(on, "perp")).toBe("4109999.99974500");
  });

  it("that comes after its time acts no more", async () => {
    const on = await scene();
    const ours = await signed(on, askOf(on));
    on.clock.advance(ours.act.validUntilMs - on.clock.wallMs() + 1);
    expect(await send(on, ours)).toEqual({ kind: "repeated" });
    expect(await standing(on, ours)).toEqual({ kind: "absent" });
    expect(await free(on, "perp")).toBe("10000.00000000");
  });
});
