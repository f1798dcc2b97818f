/**
 * Money of a server wallet: both parties as processes, the local venues and their chains as real ones. Into both venues,
 * across one of them, out of both, and on chain again; every refusal on the way; and a service that dies meanwhile.
 */
import { cpSync, rmSync } from "node:fs";
import type { Hex } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Reply } from "../../../gateway/test/client.js";
import { WORLD, type WorldChainId, worldToken } from "../../sim/chain/world-plan.js";
import { type ChainWorld, startChainWorld } from "../../sim/chain/world.js";
import {
  CustodyBench,
  madeWallet,
  onceServed,
  toldBy,
  type WalletCaller,
  type WalletFields,
  type WalletStand,
  walletStand,
} from "../support/custody-bench.js";
import { credentialsOf, type LocalPair, type PairVenue, startLocalPair } from "../support/local-pair.js";
import { found, pause } from "../support/system.js";

const SCOPES = ["read", "sign", "trade", "transfer", "admin"];
const EXPLORER = "https://explorer.example";
const ELSEWHERE = "0x00000000000000000000000000000000000000dd";
const { vault } = WORLD[56];
const bridge = WORLD[42161].bridge as Hex;
const usdt = worldToken(56, "USDT").address;
const usdc = worldToken(42161, "USDC").address;

/** What docs/transfers.md says that a policy needs, with the amounts of this test. */
const POLICY = {
  format: 1,
  callers: { messages: ["text"] },
  service: {
    chains: [
      { chainId: 56, perDay: "1000000000000000000" },
      { chainId: 42161, perDay: "1000000000000000000" },
    ],
    tokens: [
      { chainId: 56, token: usdt, methods: ["approve"], destinations: [vault], perDay: "1000000000000000000000" },
      { chainId: 42161, token: usdc, methods: ["transfer"], destinations: [bridge], perDay: "1000000000" },
    ],
    contracts: [
      {
        chainId: 56,
        contract: vault,
        methods: [
          {
            signature: "deposit(address,uint256,uint256)",
            fixed: [{ argument: 0, value: usdt }],
            amount: { argument: 1, token: usdt, perDay: "1000000000000000000000" },
            free: [2],
          },
        ],
      },
    ],
    venues: [
      { act: "venueone.approveAgent" },
      { act: "venueone.withdraw", token: "USDC", destinations: ["self"], perDay: "1000" },
      { act: "venuetwo.agentThatWithdraws" },
      { act: "venuetwo.withdraw", token: "USDT", destinations: ["self"], perDay: "1000" },
    ],
  },
};

let world: ChainWorld;
let pair: LocalPair;
let bench: CustodyBench;
vi.setConfig({ testTimeout: 300_000 });
beforeAll(async () => {
  // Blocks come by themselves: what waits for confirmations sees them.
  world = await startChainWorld({ chainIds: [56, 42161], mining: { kind: "interval", seconds: 1 } });
  const chains = { rpcUrls: world.rpcUrls, confirmations: 2 };
  pair = await startLocalPair({ seed: 71, symbols: ["BTC"], chains });
  bench = new CustodyBench(pair);
}, 240_000);
afterAll(async () => {
  await bench.end();
  bench.dispose();
  await pair.stop();
  await world.stop();
});

const pairsOf = (chainId: WorldChainId, symbol: string, taker: Readonly<Record<string, string>>): string => {
  const { address, decimals } = worldToken(chainId, symbol);
  return JSON.stringify([{ chainId, symbol, address, decimals, ...taker }]);
};

const environment = (): Record<string, string> => ({
  ...{ CHAIN_56_RPC_URLS: `${world.rpcUrls[56]}/?key=canarycanary`, CHAIN_56_CONFIRMATIONS: "3" },
  ...{ CHAIN_42161_RPC_URLS: world.rpcUrls[42161] ?? "", CHAIN_42161_CONFIRMATIONS: "3" },
  ...{ EXPLORER_URL_56: EXPLORER, VENUETWO_AGENT_IP_WHITELIST: "127.0.0.1" },
  VENUETWO_DEPOSIT_PAIRS: pairsOf(56, "USDT", { vault }),
  VENUEONE_DEPOSIT_PAIRS: pairsOf(42161, "USDC", { bridge }),
});

const begun = (name: string, changes: Readonly<Record<string, string>> = {}) =>
  walletStand(bench, name, { place: bench.place(name, { ...environment(), ...changes }, POLICY), scopes: SCOPES });

/** Tokens of both chains, and coins for gas. */
async function funded({ address }: WalletFields, amount = "100"): Promise<void> {
  const to = address as Hex;
  await world.mint({ chainId: 56, token: "USDT", to, amount });
  await world.mint({ chainId: 42161, token: "USDC", to, amount });
  for (const chainId of [56, 42161] as const) await world.setCoins(chainId, to, "1");
}

const onChain = ({ address }: WalletFields) =>
  Promise.all([world.balance(56, "USDT", address as Hex), world.balance(42161, "USDC", address as Hex)]);

type Data = Readonly<Record<string, unknown>>;
const bodyOf = ({ body }: Reply) => body as unknown as Data & { readonly data: Data };
const done = (reply: Reply): Data => {
  expect([reply.status, toldBy(reply).code ?? "ok"], reply.text).toEqual([200, "ok"]);
  return bodyOf(reply).data;
};
const coded = (reply: Reply) => refused(reply).slice(0, 2);
const refused = (reply: Reply) => [reply.status, toldBy(reply).code, bodyOf(reply)["error"]];

const deposit = (caller: WalletCaller, venue: string, body: Data, headers = {}) =>
  caller.post(`/api/trading/${venue}/deposit`, body, headers);
const OF_TWO = { tokenSymbol: "USDT", network: "network_56" };
const OF_ONE = { tokenSymbol: "USDC", network: "arbitrum" };
const move = (caller: WalletCaller, body: Data) => caller.post("/api/venuetwo/wallet/transfer", body);
const withdrawTwo = (caller: WalletCaller, body: Data, headers = {}) =>
  caller.post("/api/trading/venuetwo/withdraw", body, headers);
const withdrawOne = (caller: WalletCaller, body: Data, headers = {}) =>
  caller.post("/api/trading/venueone/withdraw", body, headers);
const register = (caller: WalletCaller, venue: PairVenue, { walletId }: WalletFields) =>
  onceServed(() => caller.post(`/api/trading/${venue}/apikey`, { walletIdOrAddress: walletId }));

/** The venues look at their chains by themselves too; here at once. */
async function looked(): Promise<void> {
  for (const venue of ["venueone", "venuetwo"] as const) {
    const reply = await fetch(`${pair[venue].restUrl}/_sim/chains`, { method: "POST", body: "{}" });
    expect(reply.status).toBe(200);
  }
}

async function transferOf(caller: WalletCaller, transferId: unknown): Promise<Data> {
  return done(await caller.ask(`/api/transfers/${String(transferId)}`));
}

/** Once it holds of the transfer. */
async function until(caller: WalletCaller, transferId: unknown, holds: (row: Data) => boolean): Promise<Data> {
  let last: Data = {};
  const look = async (): Promise<Data | null> => {
    last = await transferOf(caller, transferId);
    if (holds(last)) return last;
    await looked();
    return null;
  };
  return found(() => `the transfer gets there: ${JSON.stringify(last)}`, look);
}

/** Once the wallet has these tokens on both chains. */
async function held(wallet: WalletFields, tokens: readonly [string, string]): Promise<void> {
  let last: readonly string[] = [];
  const look = async (): Promise<true | null> => {
    last = await onChain(wallet);
    if (last.join() === tokens.join()) return true;
    await looked();
    return null;
  };
  await found(() => `the wallet has ${tokens.join(" and ")}, and not ${last.join(" and ")}`, look);
}

const isConfirmed = (row: Data) => row["state"] === "confirmed";
const isCredited = (row: Data) => row["state"] === "confirmed" && row["venueId"] !== null;

async function balancesOf(caller: WalletCaller, { walletId }: WalletFields): Promise<Data> {
  return done(await caller.ask(`/api/wallets/${walletId}/balances`));
}

interface VenuePart {
  readonly exchange: string;
  readonly balances: readonly { readonly accountType: string; readonly asset: string; readonly free: string }[];
  readonly error?: { readonly code: string };
}

async function freeAt(caller: WalletCaller, wallet: WalletFields, venue: PairVenue): Promise<Record<string, number>> {
  const { venues } = (await balancesOf(caller, wallet)) as unknown as { readonly venues: readonly VenuePart[] };
  const part = venues.find(({ exchange }) => exchange === venue);
  expect(part?.error).toBeUndefined();
  const own = part?.balances.filter(({ asset }) => asset === "USDT" || asset === "USDC") ?? [];
  return Object.fromEntries(own.map(({ accountType, free }) => [accountType, Number(free)]));
}

describe("money of a server wallet", () => {
  let stand: WalletStand | null = null;
  afterAll(() => bench.end());

  /** One service for all of them: each has a wallet of its own. */
  async function shared(): Promise<WalletStand> {
    stand ??= await begun("shared");
    return stand;
  }

  it("goes into both venues, across one, out of both, and is on chain again", async () => {
    const { caller, service } = await shared();
    const wallet = await madeWallet(caller, "round-trip");
    await funded(wallet);
    const { walletId, address } = wallet;

    const dry = done(
      await deposit(caller, "venuetwo", { walletIdOrAddress: walletId, amount: "40", ...OF_TWO, dryRun: true }),
    );
    expect(dry).toMatchObject({
      ...{ status: "DRY_RUN", transferId: null, txHash: null, amount: "40", network: "network_56", decimals: 18 },
      check: { minimum: "1", available: "100", steps: ["approve", "deposit"] },
    });
    const two = done(await deposit(caller, "venuetwo", { walletIdOrAddress: walletId, amount: "40", ...OF_TWO }));
    expect(two).toEqual({
      ...{ txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/), txUrl: `${EXPLORER}/tx/${String(two["txHash"])}` },
      ...{ amount: "40", token: "USDT", network: "network_56", decimals: 18, blockNumber: expect.any(Number) },
      ...{ transferId: expect.any(String), status: "broadcast" },
    });
    const one = done(await deposit(caller, "venueone", { walletIdOrAddress: address, amount: "50.5", ...OF_ONE }));
    expect(one).toMatchObject({ amount: "50.5", token: "USDC", network: "arbitrum", decimals: 6, txUrl: "" });
    // What venuetwo has credited it tells a key of the account alone.
    await until(caller, two["transferId"], isConfirmed);
    await until(caller, one["transferId"], isCredited);
    await looked();
    expect(await onChain(wallet)).toEqual(["60", "49.5"]);

    for (const venue of ["venueone", "venuetwo"] as const) done(await register(caller, venue, wallet));
    const rows = [await until(caller, two["transferId"], isCredited), await transferOf(caller, one["transferId"])];
    expect(rows.map(({ steps }) => (steps as { name: string }[]).map(({ name }) => name))).toEqual([
      ["approve", "deposit"],
      ["deposit"],
    ]);
    expect(await freeAt(caller, wallet, "venuetwo")).toMatchObject({ spot: 40 });
    const across = { walletId, asset: "USDT", amount: "15.5", clientTranId: "to-perp-1", kindType: "SPOT_FUTURE" };
    const moved = done(await move(caller, across));
    expect(moved).toMatchObject({ status: "SUCCESS", tranId: expect.stringMatching(/^\d+$/), amount: "15.5" });
    // Its name again is the same transfer; another transfer under it is none.
    expect(done(await move(caller, across))["transferId"]).toBe(moved["transferId"]);
    expect(coded(await move(caller, { ...across, amount: "1" }))).toEqual([409, "TRANSFER_NAME_USED"]);
    expect(await freeAt(caller, wallet, "venuetwo")).toMatchObject({ spot: 24.5, perp: 15.5 });

    const outOfTwo = {
      ...{ walletAddress: address, chainId: 56, asset: "USDT", amount: "10000000000000000000", receiver: address },
    };
    const spot = bodyOf(await withdrawTwo(caller, { ...outOfTwo, accountType: "spot" }));
    expect(spot).toMatchObject({
      ...{ success: true, status: expect.stringMatching(/submitted|pending/), network: "network_56" },
      data: { withdrawalId: spot["withdrawalId"], amount: "10", asset: "USDT", feeIsInside: false },
    });
    const outOfOne = { walletIdOrAddress: walletId, destination: address, amount: "20.25", chainId: 42161 };
    const header = { "x-wallet-id": walletId };
    const paid = bodyOf(await withdrawOne(caller, { ...outOfOne, feeBuffer: "1.1" }, header));
    expect(paid).toMatchObject({
      ...{ success: true, network: "network_42161", status: expect.stringMatching(/accepted|pending/) },
      data: { amount: "20.25", asset: "USDC", fee: "1", feeIsInside: true },
    });
    await until(caller, spot.data["transferId"], ({ payout }) => payout === "completed");
    const out = await until(caller, paid.data["transferId"], ({ payout }) => payout === "completed");
    expect(out).toMatchObject({ state: "confirmed", paid: "19.25", txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    await held(wallet, ["70", "68.75"]);

    const listed = done(await caller.ask(`/api/wallets/${walletId}/transfers?limit=2`));
    const next = done(
      await caller.ask(`/api/wallets/${walletId}/transfers?limit=10&cursor=${String(listed["nextCursor"])}`),
    );
    const kinds = [listed, next].flatMap(({ transfers }) => (transfers as { kind: string }[]).map(({ kind }) => kind));
    expect(kinds).toEqual(["withdrawal", "withdrawal", "internal", "deposit", "deposit"]);
    const metrics = (await caller.ask("/metrics")).text;
    expect(metrics).toContain('unwind_transfers{venue="venuetwo",kind="deposit",state="confirmed"} 1');
    expect(metrics).toContain('unwind_chain_endpoint_ready{chain="56",endpoint="1"} 1');
    expect(`${service.stdout}${service.stderr}`).not.toContain("canarycanary");
    process.stdout.write(`${JSON.stringify(await balancesOf(caller, wallet))}\n`);
  });

  it("is refused where the interface says so, with its texts, and nothing is signed", async () => {
    const { place, service, caller } = await shared();
    const wallet = await madeWallet(caller, "refusals");
    const { walletId, address } = wallet;
    const of = { walletIdOrAddress: walletId };
    const broke = (body: Data) => deposit(caller, "venuetwo", { ...of, ...OF_TWO, ...body });
    expect(refused(await deposit(caller, "venuetwo", of))).toEqual([
      ...[400, "MISSING_PARAMETERS", "Missing required parameters"],
    ]);
    expect(refused(await deposit(caller, "venuethree", { ...of, ...OF_TWO, amount: "5" }))).toEqual([
      ...[400, "UNSUPPORTED_EXCHANGE", "Unsupported exchange"],
    ]);
    const below = await broke({ amount: "0.999999" });
    expect(refused(below)).toEqual([400, "DEPOSIT_BELOW_MINIMUM", "Deposit amount is below the minimum"]);
    expect(toldBy(below).details).toMatchObject({ minimum: "1" });
    expect(refused(await broke({ amount: "5" }))).toEqual([
      ...[400, "INSUFFICIENT_BALANCE", "Insufficient balance for deposit"],
    ]);
    await world.mint({ chainId: 56, token: "USDT", to: address as Hex, amount: "50" });
    expect(coded(await broke({ amount: "5" }))).toEqual([400, "INSUFFICIENT_GAS"]);
    expect(coded(await broke({ amount: "5", network: "network_eth" }))).toEqual([400, "INVALID_PARAMETERS"]);
    expect(coded(await broke({ amount: "5", tokenSymbol: "USDC" }))).toEqual([400, "INVALID_PARAMETERS"]);
    const nobody = { ...OF_TWO, walletIdOrAddress: "nobody", amount: "5" };
    expect(refused(await deposit(caller, "venuetwo", nobody))).toEqual([404, "WALLET_NOT_FOUND", "Wallet not found"]);

    const across = { asset: "USDT", amount: "5", kindType: "SPOT_FUTURE" };
    expect(refused(await move(caller, across))).toEqual([400, "MISSING_PARAMETERS", "Missing required parameters"]);
    expect(coded(await move(caller, { ...across, walletId, kindType: "UP" }))).toEqual([
      ...[400, "INVALID_PARAMETERS"],
    ]);
    const withoutKey = await move(caller, { ...across, walletId, dryRun: true });
    expect(coded(withoutKey)).toEqual([404, "API_KEY_NOT_FOUND"]);

    const out = {
      walletAddress: address,
      chainId: 56,
      asset: "USDT",
      amount: "5000000000000000000",
      accountType: "spot",
    };
    expect(coded(await withdrawTwo(caller, { ...out, amount: "5", receiver: address }))).toEqual([
      ...[400, "INVALID_PARAMETERS"],
    ]);
    expect(coded(await withdrawTwo(caller, { ...out, receiver: ELSEWHERE }))).toEqual([...[400, "RECEIVER_MISMATCH"]]);
    expect(coded(await withdrawTwo(caller, { ...out, amount: "5.5", receiver: address }))).toEqual([
      ...[400, "INVALID_PARAMETERS"],
    ]);
    expect(coded(await withdrawTwo(caller, { ...out, receiver: address }))).toEqual([404, "API_KEY_NOT_FOUND"]);

    const away = { ...of, destination: address, amount: "5", chainId: 42161 };
    expect(refused(await withdrawOne(caller, away))).toEqual([
      ...[401, "MISSING_WALLET_HEADER", "Missing x-wallet-id header"],
    ]);
    const other = await madeWallet(caller, "other");
    expect(refused(await withdrawOne(caller, away, { "x-wallet-id": other.walletId }))).toEqual([
      ...[401, "INVALID_WALLET_ID", "Invalid wallet ID"],
    ]);
    expect(refused(await withdrawOne(caller, away, { "x-wallet-id": walletId }))).toEqual([
      ...[400, "INSUFFICIENT_BALANCE", "Insufficient balance for withdrawal"],
    ]);
    expect(done(await caller.ask(`/api/wallets/${walletId}/transfers`))).toEqual({ transfers: [], nextCursor: null });

    const stranger = bench.caller(service, await bench.createKey(place, SCOPES));
    const none = "/api/transfers/7c1f0a3e-64a5-4c0b-9d5e-2a4b6c8d0e1f";
    expect(refused(await stranger.ask(none))).toEqual([404, "TRANSFER_NOT_FOUND", "No such transfer"]);
    for (const path of ["transfers", "balances"])
      expect(coded(await stranger.ask(`/api/wallets/${walletId}/${path}`))).toEqual([404, "WALLET_NOT_FOUND"]);
  });

  it("is the co-signer's to refuse: a destination that its policy does not name moves nothing", async () => {
    const { place, service, caller } = await shared();
    const wallet = await madeWallet(caller, "policy");
    await funded(wallet);
    const { walletId } = wallet;
    const made = done(await deposit(caller, "venueone", { walletIdOrAddress: walletId, amount: "30", ...OF_ONE }));
    await until(caller, made["transferId"], isCredited);
    const away = { walletIdOrAddress: walletId, destination: ELSEWHERE, amount: "5", chainId: 42161 };
    const reply = await withdrawOne(caller, away, { "x-wallet-id": walletId });
    expect(coded(reply)).toEqual([403, "DESTINATION_NOT_ALLOWED"]);
    const { transferId } = toldBy(reply).details ?? {};
    expect(await transferOf(caller, transferId)).toMatchObject({ state: "failed", reason: "NOT_SIGNED" });
    const stranger = bench.caller(service, await bench.createKey(place, SCOPES));
    expect(coded(await stranger.ask(`/api/transfers/${String(transferId)}`))).toEqual([...[404, "TRANSFER_NOT_FOUND"]]);
    expect(await freeAt(caller, wallet, "venueone")).toMatchObject({ perp: 30 });
  });
});

describe("money of a server wallet in a service of its own", () => {
  afterEach(() => bench.end());

  it("of a chain without endpoints is 503 with its word, and withdrawals need none", async () => {
    const { caller, wallet } = await begun("no-chains", { CHAIN_56_RPC_URLS: "", CHAIN_42161_RPC_URLS: "" });
    const { walletId } = wallet;
    const reply = await deposit(caller, "venuetwo", { walletIdOrAddress: walletId, amount: "5", ...OF_TWO });
    expect([reply.status, toldBy(reply).code, toldBy(reply).details]).toEqual([
      ...[503, "CHAIN_UNAVAILABLE", expect.objectContaining({ chainId: 56, reason: "NOT_CONFIGURED" })],
    ]);
    const away = { walletIdOrAddress: walletId, destination: wallet.address, amount: "5", chainId: 42161 };
    expect(coded(await withdrawOne(caller, away, { "x-wallet-id": walletId }))).toEqual([
      ...[400, "INSUFFICIENT_BALANCE"],
    ]);
  });

  it("moves once where the service is killed behind the broadcast: the same key finds the same transfer", async () => {
    const { place, service, apiKey, caller, wallet } = await begun("killed", { DEPOSIT_WAIT_MS: "60000" });
    await funded(wallet);
    const body = { walletIdOrAddress: wallet.walletId, amount: "30", ...OF_TWO };
    const headers = { "idempotency-key": "deposit-1" };
    const cut = deposit(caller, "venuetwo", body, headers).catch(() => null);
    const row = await found("the deposit is broadcast", async () => {
      const { transfers } = done(await caller.ask(`/api/wallets/${wallet.walletId}/transfers`));
      const [first] = transfers as Data[];
      return first?.["state"] === "broadcast" ? first : null;
    });
    await bench.stop(service, "SIGKILL");
    await cut;
    const later = bench.caller(await bench.start(place), apiKey);
    const again = done(await onceServed(() => deposit(later, "venuetwo", body, headers)));
    expect(again["transferId"]).toBe(row["transferId"]);
    expect(await until(later, row["transferId"], isConfirmed)).toMatchObject({ amount: "30" });
    expect(await onChain(wallet)).toEqual(["70", "100"]);
    const replayed = await deposit(later, "venuetwo", body, headers);
    expect([done(replayed), replayed.headers["idempotent-replayed"]]).toEqual([again, "true"]);
    const { transfers } = done(await later.ask(`/api/wallets/${wallet.walletId}/transfers`));
    expect(transfers).toHaveLength(1);
  });
});

interface Printed {
  readonly last: {
    readonly differences: readonly { readonly kind: string; readonly part: string; readonly text: string }[];
    readonly unread: readonly { readonly part: string; readonly code: string }[];
  };
}

/** Copies the folder of a service that is stopped, or puts the copy back. */
function copied(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true });
}

const storeOf = async (caller: WalletCaller) => {
  const { data } = bodyOf(await caller.ask("/api/status"));
  return data["store"] as { readonly restored: { readonly reason: string } | null };
};

describe("a restored backup of the service's store", () => {
  afterEach(() => bench.end());

  it("moves nothing twice: exits go on, money waits for the release, and the same keys are refused after it", async () => {
    const { place, service, apiKey, caller, wallet } = await begun("restored");
    await funded(wallet);
    const { walletId, address } = wallet;
    const two = done(await deposit(caller, "venuetwo", { walletIdOrAddress: walletId, amount: "40", ...OF_TWO }));
    const one = done(await deposit(caller, "venueone", { walletIdOrAddress: walletId, amount: "50", ...OF_ONE }));
    // venueone knows the account by its first deposit; what venuetwo has credited it tells a key of the account alone.
    await until(caller, one["transferId"], isCredited);
    for (const venue of ["venueone", "venuetwo"] as const) done(await register(caller, venue, wallet));
    await until(caller, two["transferId"], isCredited);
    expect((await storeOf(caller)).restored).toBe(null);
    await bench.stop(service, "SIGTERM");
    const backup = `${place.folder}/backup`;
    copied(place.dataDir, backup);

    // What the backup does not have: two withdrawals, a deposit and a transfer between accounts.
    const second = await bench.start(place);
    const live = bench.caller(second, apiKey);
    const spot = { walletAddress: address, chainId: 56, asset: "USDT", amount: "10000000000000000000" };
    const outOfTwo = { ...spot, receiver: address, accountType: "spot" };
    const outOfOne = { walletIdOrAddress: walletId, destination: address, amount: "20", chainId: 42161 };
    const intoOne = { walletIdOrAddress: walletId, amount: "7", ...OF_ONE };
    const across = { walletId, asset: "USDT", amount: "5", kindType: "SPOT_FUTURE" };
    const header = { "x-wallet-id": walletId };
    const asks = (by: WalletCaller): readonly (() => Promise<Reply>)[] => [
      () => withdrawTwo(by, outOfTwo, { "idempotency-key": "out-of-two" }),
      () => withdrawOne(by, outOfOne, { ...header, "idempotency-key": "out-of-one" }),
      () => deposit(by, "venueone", intoOne, { "idempotency-key": "into-one" }),
      () => by.post("/api/venuetwo/wallet/transfer", across, { "idempotency-key": "across" }),
    ];
    const made: Data[] = [];
    for (const ask of asks(live)) made.push(done(await onceServed(ask)));
    await until(live, made[0]?.["transferId"], ({ payout }) => payout === "completed");
    await until(live, made[2]?.["transferId"], isCredited);
    await held(wallet, ["70", "62"]);
    const atVenues = [await freeAt(live, wallet, "venueone"), await freeAt(live, wallet, "venuetwo")];
    await bench.stop(second, "SIGKILL");

    copied(backup, place.dataDir);
    const trader = pair.addTrader("restored-trader", { positions: { BTC: "1" } });
    const third = await bench.start(place);
    const back = bench.caller(third, apiKey);
    expect(third.stderr).toContain('"event":"instance.restored"');
    expect((await storeOf(back)).restored).toMatchObject({ reason: "FILE_AHEAD" });
    expect((await back.ask("/ready")).text).toContain("RESTORED_STORE");
    expect((await back.ask("/metrics")).text).toContain("unwind_store_restored 1");
    for (const ask of asks(back)) expect(coded(await ask())).toEqual([503, "RESTORED_STORE"]);
    const dry = await withdrawTwo(back, { ...outOfTwo, amount: "1000000000000000000", dryRun: true });
    expect(bodyOf(dry)["status"]).toBe("DRY_RUN");
    const credentials = credentialsOf(trader);
    const sized = { symbol: "BTC", direction: "LONG", size: "0.01", preferredExchange: "venuetwo", credentials };
    expect(coded(await back.post("/api/trade/position/open", sized))).toEqual([503, "RESTORED_STORE"]);
    const closed = await back.post("/api/trade/position/close", sized);
    expect([closed.status, closed.status === 200 ? "" : closed.text]).toEqual([200, ""]);

    expect((await bench.serve.unwind(place, "reconcile", "--release")).stderr).toContain("RELEASE_REFUSED");
    const { code, stdout } = await bench.serve.unwind(place, "reconcile", "--json");
    const { differences, unread } = (JSON.parse(stdout) as Printed).last;
    expect([code, unread]).toEqual([5, []]);
    const told = differences.map(({ kind, part, text }) => `${kind} ${part} ${text.replace(/, \S+$/, "")}`).sort();
    expect(told).toEqual([
      "UNKNOWN_ENTRY venueone deposit of 7 USDC",
      expect.stringMatching(/^UNKNOWN_ENTRY venueone withdrawal of (19|20) USDC$/),
      "UNKNOWN_ENTRY venuetwo internal of 5 USDT",
      "UNKNOWN_ENTRY venuetwo withdrawal of 10 USDT",
      expect.stringMatching(/^UNKNOWN_TRANSACTIONS chain 42161 nonce \d+ used by no row$/),
    ]);
    await found("the store is released", async () => {
      await bench.serve.unwind(place, "reconcile", "--json");
      const release = await bench.serve.unwind(place, "reconcile", "--release", "--json");
      if (release.code === 0) return true;
      // A read that a slow machine cut off is compared by the next look.
      expect(release.stderr).toMatch(/TOO_EARLY|PARTS_UNREAD/);
      // The time that the service names: each command is a program that starts, and a minute of them fills a core.
      await pause(Number(/"retryAfterMs":(\d+)/.exec(release.stderr)?.[1] ?? 0));
      return null;
    });
    expect((await storeOf(back)).restored).toBe(null);
    expect((await bench.serve.unwind(place, "audit")).stdout).toContain("store.release");
    for (const ask of asks(back)) expect(coded(await ask())).toEqual([409, "TRANSFER_FOUND"]);
    expect(await onChain(wallet)).toEqual(["70", "62"]);
    expect([await freeAt(back, wallet, "venueone"), await freeAt(back, wallet, "venuetwo")]).toEqual(atVenues);
    expect(done(await move(back, { ...across, amount: "1.5" }))).toMatchObject({ status: "SUCCESS" });
    expect((await back.post("/api/trade/position/open", sized)).status).toBe(200);

    // Released above all that has counted: the next start is an ordinary one.
    await bench.stop(third, "SIGKILL");
    const fourth = bench.caller(await bench.start(place), apiKey);
    expect((await storeOf(fourth)).restored).toBe(null);
    for (const ask of asks(fourth)) expect(coded(await onceServed(ask))).toEqual([409, "TRANSFER_FOUND"]);
  });
});
