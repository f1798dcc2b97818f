/**
 * Money of a server wallet where a chain, a venue or a signer does what it should not: whole processes, real chains, local
 * venues, each behind a proxy that breaks one thing. What the caller hears, and what the chains and books have in the end.
 *
 * Each test's name is a fault; those that other files show at the level of routes are in docs/behaviour.md beside this file.
 *
 * MONEY_FAULTS=all: every test. Else none that only repeats another one on a chain or an account more, or that waits for
 * the service's own patience of a minute.
 */
import { encodeAbiParameters, encodeFunctionData, type Hex, keccak256, pad, parseUnits } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { minedReceipt } from "../../sim/chain/chain-rpc.js";
import { CONTRACTS } from "../../sim/chain/contracts/artifacts.js";
import { WORLD, type WorldChainId, worldToken } from "../../sim/chain/world-plan.js";
import { toldBy, type WalletFields } from "../support/custody-bench.js";
import { type PassedReply, HoldingProxy, type SeenRequest } from "../support/holding-proxy.js";
import {
  type Ask,
  asked,
  codeOf,
  done,
  fieldsOf,
  type Fields,
  reasonOf,
  refusalOf,
  type RowFields,
  rowOf,
  rowsOf,
  rowWhen,
} from "../support/money-asks.js";
import {
  depositsOnChain,
  isKnownToChain,
  payoutsOnChain,
  tokensOf,
  venueBooks,
  withdrawalsTaken,
} from "../support/money-books.js";
import { ALLOWED, type CosignedService, MoneyStand, NOT_ALLOWED } from "../support/money-stand.js";
import { found } from "../support/system.js";

vi.setConfig({ testTimeout: 900_000 });
const IS_WHOLE = process.env["MONEY_FAULTS"] === "all";
/** Of the whole run alone. */
const more = it.runIf(IS_WHOLE);
const few = <const T extends string>(all: readonly T[]): readonly T[] => (IS_WHOLE ? all : all.slice(0, 1));
const E12 = 10n ** 12n;
/** Of a deposit's reply: by the time that a slow look sees its first block it may be final. */
const SENT = expect.stringMatching(/^(broadcast|confirmed)$/);
/** Of the tokens' storage: `balanceOf` of Token. */
const BALANCES_SLOT = 3n;

let stand: MoneyStand;
/** Another endpoint of chain 42161, so that two must agree there. */
let second: HoldingProxy;
let begun: CosignedService | null = null;
let serial = 0;

beforeAll(async () => {
  stand = await MoneyStand.start(47);
  second = await HoldingProxy.start(stand.world.chain(42161).rpcUrl);
}, 600_000);
afterEach(() => stand.clear());
afterAll(async () => {
  await second.stop();
  await stand.stop();
});

/** One for the file: each test has a wallet of its own. */
async function service(): Promise<CosignedService> {
  const urls = `${stand.proxy(42161).url},${second.url}`;
  begun ??= await stand.begin("money-faults", { CHAIN_42161_RPC_URLS: urls });
  return begun;
}

const ask = async (one: Ask) => asked((await service()).caller, one);

async function depositor(chainId: WorldChainId, token: "USDT" | "USDC", coins?: string): Promise<WalletFields> {
  const wallet = await (await service()).wallet(`faults-${serial++}`);
  await stand.world.mint({ chainId, token, to: wallet.address as Hex, amount: "100" });
  if (coins !== undefined) await stand.world.setCoins(chainId, wallet.address as Hex, coins);
  return wallet;
}

/** With 100 in each account, and a key. */
async function member(venue: "venueone" | "venuetwo"): Promise<WalletFields> {
  const one = await service();
  const wallet = await one.wallet(`faults-${serial++}`);
  const address = wallet.address.toLowerCase();
  if (venue === "venueone") stand.pair.venueone.addAccount({ address, deposit: "100" });
  else {
    stand.pair.venuetwo.addAccount({ accountId: address, wallet: address, deposit: "100", spotDeposit: "100" });
    await one.register("venuetwo", wallet);
  }
  return wallet;
}

const intoTwo = ({ walletId }: WalletFields, chainId: WorldChainId = 56, amount = "30"): Ask => ({
  path: "/api/trading/venuetwo/deposit",
  body: { walletIdOrAddress: walletId, tokenSymbol: "USDT", amount, network: String(chainId) },
  headers: {},
});
const intoOne = ({ walletId }: WalletFields, amount = "30"): Ask => ({
  path: "/api/trading/venueone/deposit",
  body: { walletIdOrAddress: walletId, tokenSymbol: "USDC", amount, network: "arbitrum" },
  headers: {},
});
const outOfOne = ({ walletId }: WalletFields, destination: string, amount = "20"): Ask => ({
  path: "/api/trading/venueone/withdraw",
  body: { walletIdOrAddress: walletId, destination, amount, chainId: 42161 },
  headers: { "x-wallet-id": walletId },
});
const outOfTwo = ({ address }: WalletFields, accountType: "spot" | "perp", chainId: WorldChainId = 56): Ask => ({
  path: "/api/trading/venuetwo/withdraw",
  body: {
    ...{ walletAddress: address, chainId, asset: "USDT", receiver: address, accountType },
    amount: parseUnits("20", worldToken(chainId, "USDT").decimals).toString(),
  },
  headers: {},
});
const across = ({ walletId }: WalletFields, change: Fields = {}): Ask => ({
  path: "/api/venuetwo/wallet/transfer",
  body: {
    walletId,
    amount: "20",
    asset: "USDT",
    kindType: "SPOT_FUTURE",
    clientTranId: `faults-${serial++}`,
    ...change,
  },
  headers: {},
});

const onlyRow = async (wallet: WalletFields): Promise<RowFields | undefined> =>
  (await rowsOf((await service()).caller, wallet))[0];
const rowUntil = async (wallet: WalletFields, what: string, holds: (row: RowFields) => boolean) =>
  rowWhen((await service()).caller, wallet, what, holds);
const isConfirmed = ({ state }: RowFields): boolean => state === "confirmed";
const effects = (wallet: WalletFields, chainId: WorldChainId, venue: "venueone" | "venuetwo") =>
  depositsOnChain(stand, { chainId, venue, address: wallet.address });
const books = (venue: "venueone" | "venuetwo", { address }: WalletFields) => venueBooks(stand.pair, venue, address);

const isSend =
  ({ address }: WalletFields, nonce: number) =>
  ({ transaction }: SeenRequest) =>
    transaction?.from === address.toLowerCase() && transaction.nonce === nonce;
const isCall =
  (method: string, { address }: WalletFields) =>
  (seen: SeenRequest) =>
    seen.method === method && seen.text.includes(address.toLowerCase().slice(2));

/** As nobody's transaction could: what the wallet has of the token is gone, or the vault has nothing to pay with. */
async function setTokens(chainId: WorldChainId, symbol: string, owner: string, units: bigint): Promise<void> {
  const types = [{ type: "address" }, { type: "uint256" }];
  const slot = keccak256(encodeAbiParameters(types, [owner, BALANCES_SLOT]));
  const value = pad(`0x${units.toString(16)}`, { size: 32 });
  await stand.world.chain(chainId).rpc("anvil_setStorageAt", [worldToken(chainId, symbol).address, slot, value]);
}

/** With the wallet's key, from elsewhere. */
async function sendFromElsewhere(chainId: WorldChainId, { address }: WalletFields, nonce: number): Promise<void> {
  const { rpc } = stand.world.chain(chainId);
  const { abi } = CONTRACTS.Token;
  const data = encodeFunctionData({ abi, functionName: "approve", args: [NOT_ALLOWED, 1n] });
  await rpc("anvil_impersonateAccount", [address]);
  const to = worldToken(chainId, "USDT").address;
  const sent = { from: address, to, data, nonce: `0x${nonce.toString(16)}` };
  await minedReceipt(rpc, (await rpc("eth_sendTransaction", [sent])) as Hex);
  await rpc("anvil_stopImpersonatingAccount", [address]);
}

const rpcError =
  (message: string) =>
  (_real: () => Promise<PassedReply>, { text }: SeenRequest) => {
    const id = Number(/"id":(\d+)/.exec(text)?.[1] ?? 0);
    return { status: 200, body: JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }) };
  };

describe("a deposit", () => {
  it("without coins for gas is 400, and nothing is signed", async () => {
    const wallet = await depositor(1, "USDT", "0");
    const reply = await ask(intoTwo(wallet, 1));
    expect(codeOf(reply)).toEqual([400, "INSUFFICIENT_GAS"]);
    expect(toldBy(reply).details).toMatchObject({ chainId: 1, address: wallet.address.toLowerCase(), available: "0" });
    expect(await onlyRow(wallet)).toBeUndefined();
  });

  more("of a token that resets its allowance goes through zero on chain 1", async () => {
    const wallet = await depositor(1, "USDT");
    await stand.leaveAllowance(1, wallet.address as Hex);
    await stand.world.setCoins(1, wallet.address as Hex, "1");
    const first = done(await ask(intoTwo(wallet, 1, "10")));
    const { steps } = await rowUntil(wallet, "is confirmed", isConfirmed);
    expect(steps.map(({ name, succeeded }) => [name, succeeded])).toEqual([
      ["reset", true],
      ["approve", true],
      ["deposit", true],
    ]);
    expect(first).toMatchObject({ decimals: 6, network: "1", status: SENT });
    expect(await effects(wallet, 1, "venuetwo")).toEqual([parseUnits("10", 6)]);
    expect(await tokensOf(stand, 1, "USDT", wallet.address)).toBe(parseUnits("90", 6));
  });

  it("that the chain refuses is 500 with the chain's text, and has failed", async () => {
    const wallet = await depositor(56, "USDT");
    stand.proxy(56).add({ kind: "answer", answer: rpcError("intrinsic gas too low") }, isSend(wallet, 0));
    const reply = await ask(intoTwo(wallet));
    expect(refusalOf(reply)).toEqual([500, "FAILED_TO_DEPOSIT", "Failed to process deposit"]);
    expect(toldBy(reply).details).toMatchObject({ reason: "BROADCAST_REFUSED", exchange: "venuetwo" });
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "BROADCAST_REFUSED" });
    expect(await tokensOf(stand, 56, "USDT", wallet.address)).toBe(parseUnits("100", 18));
  });

  it("that would revert by now is 500, and nothing is signed", async () => {
    const wallet = await depositor(42161, "USDC");
    // Both endpoints: whichever is asked. The first estimate belongs to the check before the row.
    let estimates = 0;
    const empty = async (real: () => Promise<PassedReply>) => {
      if (++estimates === 2) await setTokens(42161, "USDC", wallet.address, 0n);
      return real();
    };
    for (const proxy of [stand.proxy(42161), second])
      proxy.add({ kind: "answer", answer: empty }, isCall("eth_estimateGas", wallet));
    const reply = await ask(intoOne(wallet));
    expect(refusalOf(reply)).toEqual([500, "FAILED_TO_DEPOSIT", "Failed to process deposit"]);
    expect(reasonOf(reply)).toBe("WOULD_REVERT");
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "WOULD_REVERT", steps: [] });
  });

  it("that the chain undoes is 500, and has failed as reverted", async () => {
    const wallet = await depositor(56, "USDT");
    const hold = stand.proxy(56).add({ kind: "hold" }, isSend(wallet, 1));
    const reply = ask(intoTwo(wallet));
    await hold.arrived;
    await setTokens(56, "USDT", wallet.address, 0n);
    hold.release();
    const answered = await reply;
    expect(refusalOf(answered)).toEqual([500, "FAILED_TO_DEPOSIT", "Failed to process deposit"]);
    expect(reasonOf(answered)).toBe("REVERTED");
    expect(await onlyRow(wallet)).toMatchObject({
      state: "failed",
      reason: "REVERTED",
      steps: [{}, { succeeded: false }],
    });
    expect(await effects(wallet, 56, "venuetwo")).toEqual([]);
  });

  it("that an endpoint dropped is handed out again, the same transaction", async () => {
    const wallet = await depositor(56, "USDT");
    const hold = stand.proxy(56).add({ kind: "hold" }, isSend(wallet, 1));
    const reply = ask(intoTwo(wallet));
    const { transaction } = await hold.arrived;
    const hash = transaction?.hash ?? "";
    await stand.blocksOf(56).pause();
    hold.release();
    await found("it is in the pool", async () => ((await isKnownToChain(stand, 56, hash)) ? true : null));
    expect(await stand.world.chain(56).drop(hash as Hex)).toBe(true);
    stand.blocksOf(56).resume();
    const data = done(await reply);
    expect(data["txHash"]).toBe(hash);
    await rowUntil(wallet, "is confirmed", isConfirmed);
    expect(await effects(wallet, 56, "venuetwo")).toEqual([parseUnits("30", 18)]);
  });

  more("whose nonce somebody used from elsewhere has failed, with no word of the money", async () => {
    const wallet = await depositor(56, "USDT");
    const hold = stand.proxy(56).add({ kind: "hold" }, isSend(wallet, 0));
    const reply = ask(intoTwo(wallet));
    await hold.arrived;
    await sendFromElsewhere(56, wallet, 0);
    hold.release();
    const answered = await reply;
    expect([refusalOf(answered), reasonOf(answered)]).toEqual([
      [500, "FAILED_TO_DEPOSIT", "Failed to process deposit"],
      "NONCE_USED",
    ]);
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "NONCE_USED" });
    expect(await tokensOf(stand, 56, "USDT", wallet.address)).toBe(parseUnits("100", 18));
  });

  it("whose endpoint takes it and never answers is not an error, and is confirmed once", async () => {
    const wallet = await depositor(56, "USDT");
    const hung = stand.proxy(56).add({ kind: "reply" }, isSend(wallet, 1));
    const reply = ask(intoTwo(wallet));
    await hung.arrived;
    expect(fieldsOf(await reply)).toMatchObject({ success: true, data: { status: SENT } });
    await rowUntil(wallet, "is confirmed", isConfirmed);
    expect(await effects(wallet, 56, "venuetwo")).toEqual([parseUnits("30", 18)]);
  });

  it("is not final by an endpoint that makes up what the other one does not show", async () => {
    const wallet = await depositor(42161, "USDC");
    // The second endpoint lags: it never has the receipt.
    const blind = second.add({ kind: "away" }, ({ method }) => method === "eth_getTransactionReceipt");
    const made = done(await ask(intoOne(wallet)));
    expect(made).toMatchObject({ status: "broadcast" });
    await found("the first endpoint shows it as deep as is final", async () => {
      const head = Number(await stand.world.chain(42161).rpc("eth_blockNumber"));
      return head >= Number(made["blockNumber"]) + 5 ? true : null;
    });
    await found("the venue has it", async () => (books("venueone", wallet).perp === 30n * E12 ? true : null));
    expect(await rowOf((await service()).caller, made["transferId"])).toMatchObject({ state: "broadcast" });
    blind.release();
    expect(await rowUntil(wallet, "is confirmed", isConfirmed)).toMatchObject({ amount: "30", reason: null });
    expect(await effects(wallet, 42161, "venueone")).toEqual([parseUnits("30", 6)]);
  });

  it("is 503 while no endpoint of its chain answers, and nothing is signed", async () => {
    const wallet = await depositor(56, "USDT");
    stand.proxy(56).add({ kind: "away" }, () => true);
    expect(codeOf(await ask(intoTwo(wallet)))).toEqual([503, "CHAIN_UNAVAILABLE"]);
    expect(await onlyRow(wallet)).toBeUndefined();
  });

  it("is 503 while the co-signer is away, has failed as not signed, and works later", async () => {
    const wallet = await depositor(56, "USDT");
    const { link } = await service();
    link.cut();
    const reply = await ask(intoTwo(wallet));
    expect(codeOf(reply)).toEqual([503, "SIGNER_UNAVAILABLE"]);
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "NOT_SIGNED" });
    link.release();
    await found("the co-signer is back", async () => ((await ask(intoTwo(wallet))).status === 200 ? true : null));
    await rowUntil(wallet, "is confirmed", isConfirmed);
    expect(await effects(wallet, 56, "venuetwo")).toEqual([parseUnits("30", 18)]);
  });
});

describe("a withdrawal", () => {
  it("to another address is paid where the policy names it, and 403 where it does not", async () => {
    const wallet = await member("venueone");
    const to = { chainId: 42161, venue: "venueone", to: ALLOWED } as const;
    const before = (await payoutsOnChain(stand, to)).length;
    const reply = fieldsOf(await ask(outOfOne(wallet, ALLOWED)));
    expect(reply).toMatchObject({ success: true, data: { receiver: ALLOWED, fee: "1", feeIsInside: true } });
    await found("it is paid", async () => ((await payoutsOnChain(stand, to)).length > before ? true : null));
    expect((await payoutsOnChain(stand, to)).at(-1)).toBe(parseUnits("19", 6));
    const refused = await ask(outOfOne(wallet, NOT_ALLOWED));
    expect(codeOf(refused)).toEqual([403, "DESTINATION_NOT_ALLOWED"]);
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "NOT_SIGNED" });
    expect(withdrawalsTaken(stand.pair, "venueone", wallet.address)).toBe(1);
  });

  more.each([1, 56, 42161] as const)("from the perp account is paid on chain %s", async (chainId) => {
    const wallet = await member("venuetwo");
    done(await ask(outOfTwo(wallet, "perp", chainId)));
    const row = await rowUntil(wallet, "is confirmed", isConfirmed);
    expect(row).toMatchObject({ payout: "completed", paid: "20", reason: null });
    const to = { chainId, venue: "venuetwo", to: wallet.address } as const;
    expect(await payoutsOnChain(stand, to)).toEqual([parseUnits("20", worldToken(chainId, "USDT").decimals)]);
    expect(books("venuetwo", wallet).spot).toBe(100n * E12);
  });

  it("whose money is gone when it arrives is 400 with the interface's text", async () => {
    const wallet = await member("venueone");
    const hold = stand
      .proxy("venueone")
      .add({ kind: "hold" }, ({ route, text }) => route === "POST /exchange" && text.includes("withdraw3"));
    const reply = ask(outOfOne(wallet, wallet.address));
    await hold.arrived;
    stand.pair.venueone.exchange.desk.adjustWallet(wallet.address.toLowerCase(), -90n * E12, "WITHDRAW");
    hold.release();
    expect(refusalOf(await reply)).toEqual([400, "INSUFFICIENT_BALANCE", "Insufficient balance for withdrawal"]);
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "VENUE_BALANCE" });
  });

  it("that the venue refuses is 500 with the interface's text, and has failed", async () => {
    const wallet = await member("venuetwo");
    const route = "/aster/user-withdraw";
    const refusal = { status: 400, body: JSON.stringify({ code: -4000, msg: "not today" }) };
    stand.proxy("venuetwo").add({ kind: "answer", answer: () => refusal }, (seen) => seen.route.endsWith(route));
    const reply = await ask(outOfTwo(wallet, "spot"));
    expect(refusalOf(reply)).toEqual([500, "FAILED_TO_WITHDRAW", "Failed to process withdrawal"]);
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "VENUE_REFUSED" });
    expect(books("venuetwo", wallet).spot).toBe(100n * E12);
  });

  it("is 503 while the venue does not say its terms, and nothing is signed", async () => {
    const wallet = await member("venueone");
    stand.proxy("venueone").add({ kind: "away" }, ({ text }) => text.includes(wallet.address.toLowerCase()));
    expect(codeOf(await ask(outOfOne(wallet, wallet.address)))).toEqual([503, "VENUE_UNAVAILABLE"]);
    expect(await onlyRow(wallet)).toBeUndefined();
  });

  it.each(few(["perp", "spot"]))("from %s whose reply is lost is UNKNOWN, and followed to its end", async (account) => {
    const wallet = await member("venuetwo");
    stand.proxy("venuetwo").add({ kind: "lost" }, ({ route }) => route.endsWith("/aster/user-withdraw"));
    // It is not over before a second one is asked for.
    stand.holdPayouts("venuetwo", true);
    expect(fieldsOf(await ask(outOfTwo(wallet, account)))).toMatchObject({ success: true, status: "UNKNOWN" });
    expect(codeOf(await ask(outOfTwo(wallet, account)))).toEqual([409, "TRANSFER_IN_PROGRESS"]);
    stand.holdPayouts("venuetwo", false);
    expect(await rowUntil(wallet, "is confirmed", isConfirmed)).toMatchObject({ paid: "20", payout: "completed" });
    expect(withdrawalsTaken(stand.pair, "venuetwo", wallet.address)).toBe(1);
  });

  it("from venueone whose reply is lost is UNKNOWN, then shown by the venue, and paid on its chain", async () => {
    const wallet = await member("venueone");
    stand.proxy("venueone").add({ kind: "lost" }, ({ text }) => text.includes("withdraw3"));
    expect(fieldsOf(await ask(outOfOne(wallet, wallet.address)))).toMatchObject({ success: true, status: "UNKNOWN" });
    expect(await rowUntil(wallet, "is confirmed", isConfirmed)).toMatchObject({ payout: "completed", paid: "19" });
    expect(withdrawalsTaken(stand.pair, "venueone", wallet.address)).toBe(1);
  });

  more("that is paid late is pending until then", async () => {
    const wallet = await member("venuetwo");
    stand.holdPayouts("venuetwo", true);
    done(await ask(outOfTwo(wallet, "spot")));
    expect(await rowUntil(wallet, "is pending", ({ payout }) => payout === "pending")).toMatchObject({
      state: "broadcast",
    });
    stand.holdPayouts("venuetwo", false);
    expect(await rowUntil(wallet, "is confirmed", isConfirmed)).toMatchObject({ paid: "20" });
  });

  it("of which the venue pays less is confirmed with what it says that it paid", async () => {
    const wallet = await member("venuetwo");
    const less = async (real: () => Promise<PassedReply>) => {
      const { status, body } = await real();
      return { status, body: body.replaceAll('"amount":"20"', '"amount":"19.5"') };
    };
    stand
      .proxy("venuetwo")
      .add(
        { kind: "answer", answer: less },
        ({ route, text }) => route.endsWith("/deposit-withdraw-history") && text.includes(wallet.address.toLowerCase()),
      );
    done(await ask(outOfTwo(wallet, "spot")));
    expect(await rowUntil(wallet, "is confirmed", isConfirmed)).toMatchObject({ amount: "20", paid: "19.5" });
  });

  it("that the venue cannot pay has failed, and the money is back at the venue", async () => {
    const wallet = await member("venuetwo");
    const { vault } = WORLD[56];
    const reserve = await tokensOf(stand, 56, "USDT", vault);
    await setTokens(56, "USDT", vault, 0n);
    done(await ask(outOfTwo(wallet, "spot")));
    expect(await rowUntil(wallet, "has failed", ({ state }) => state === "failed")).toMatchObject({
      reason: "VENUE_FAILED",
      payout: "failed",
    });
    await setTokens(56, "USDT", vault, reserve);
    expect(books("venuetwo", wallet).spot).toBe(100n * E12);
  });
});

describe("a transfer between accounts", () => {
  more("of more than there is is 400, has failed, and moves nothing", async () => {
    const wallet = await member("venuetwo");
    const reply = await ask(across(wallet, { amount: "100.5" }));
    expect(codeOf(reply)).toEqual([400, "INSUFFICIENT_BALANCE"]);
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "VENUE_BALANCE" });
    expect(books("venuetwo", wallet)).toEqual({ spot: 100n * E12, perp: 100n * E12 });
  });

  it("that the venue refuses is 500, and has failed", async () => {
    const wallet = await member("venuetwo");
    const refusal = { status: 400, body: JSON.stringify({ code: -4000, msg: "not today" }) };
    stand
      .proxy("venuetwo")
      .add({ kind: "answer", answer: () => refusal }, ({ route }) => route.endsWith("/asset/wallet/transfer"));
    expect(refusalOf(await ask(across(wallet)))).toEqual([500, "FAILED_TO_TRANSFER", "Failed to process transfer"]);
    expect(await onlyRow(wallet)).toMatchObject({ state: "failed", reason: "VENUE_REFUSED" });
  });

  it.each(few(["SPOT_FUTURE", "FUTURE_SPOT"]))(
    "%s whose reply is lost is UNKNOWN, and moves once",
    async (kindType) => {
      const wallet = await member("venuetwo");
      stand.proxy("venuetwo").add({ kind: "lost" }, ({ route }) => route.endsWith("/asset/wallet/transfer"));
      expect(done(await ask(across(wallet, { kindType })))).toMatchObject({ status: "UNKNOWN" });
      await rowUntil(wallet, "is confirmed", isConfirmed);
      const moved = kindType === "SPOT_FUTURE" ? 20n : -20n;
      expect(books("venuetwo", wallet)).toEqual({ spot: (100n - moved) * E12, perp: (100n + moved) * E12 });
    },
  );
});
