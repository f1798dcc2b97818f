/** Money of the local venuetwo on chain: deposits into the vault, withdrawals out of it, and the venue's rows of both. */
import { describe, expect, it, onTestFinished } from "vitest";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { Mining } from "../../chain/local-chain.js";
import { startDepositor } from "../../chain/test/depositor.js";
import { type ChainWorld, startChainWorld } from "../../chain/world.js";
import { WORLD, type WorldChainId } from "../../chain/world-plan.js";
import type { VenuetwoSim } from "../sim.js";
import {
  ACCOUNT,
  API_SECRET,
  agentCall,
  agentWallet,
  call,
  form,
  hmac,
  MAIN_WALLET_KEY,
  mainWallet,
  signedCall,
  startTestVenue,
} from "./support.js";
import { withdrawal } from "./withdrawal.js";

const NOW_MS = 1_763_600_000_000;
const MANUAL: Mining = { kind: "manual" };
const STRANGER_KEY = `0x${"41".repeat(32)}` as const;
const GATEWAY = "/bapi/futures/v1/public/future/aster";

/** Vector v2-eip712-withdraw-045, of a published key of test chains. */
const VECTOR = {
  chainId: "56",
  asset: "USDT",
  amount: "31",
  fee: "0.3",
  receiver: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  nonce: "1761210000000000",
  userSignature:
    "0x16dc3ee439b20a412d20dfef7211c517649d993d4522387947dc8243c791801b6f49d4c8d0d31cb9f550ac0cecde05ef21f2fbbe6ae59e3f2baad0d06213b6a21b",
};

interface Bench {
  readonly world: ChainWorld;
  readonly venue: VenuetwoSim;
  /** One look of the venue at its chains. */
  look(): Promise<Record<string, unknown>>;
  /** A block, then a look. */
  block(chainId?: WorldChainId): Promise<Record<string, unknown>>;
}

async function start(chainIds: readonly WorldChainId[] = [56], confirmations = 1): Promise<Bench> {
  const world = await startChainWorld({ chainIds, mining: MANUAL });
  onTestFinished(() => world.stop());
  const chains = { rpcUrls: world.rpcUrls, confirmations };
  const venue = await startTestVenue({ clock: new VirtualClock(NOW_MS), flow: null, chains });
  onTestFinished(() => venue.stop());
  venue.room.keys.approve(mainWallet.address.toLowerCase(), agentWallet.address.toLowerCase(), {
    ...{ name: "agent", expiresMs: NOW_MS * 2, canWithdraw: true, ipWhitelist: "127.0.0.1" },
  });
  const look = () => control(venue, "chains");
  return {
    world,
    venue,
    look,
    async block(chainId = chainIds[0] ?? 56) {
      await world.chain(chainId).mine();
      return look();
    },
  };
}

async function control(venue: VenuetwoSim, name: string, body: object = {}): Promise<Record<string, unknown>> {
  return (await call(venue, "POST", `/_sim/${name}`, {}, JSON.stringify(body))).json;
}

const spotOf = (venue: VenuetwoSim, accountId = ACCOUNT): bigint =>
  (venue.exchange.accounts.find(accountId)?.spotE12 ?? 0n) / 10n ** 6n;
const perpOf = (venue: VenuetwoSim): bigint => (venue.exchange.accounts.find(ACCOUNT)?.walletE12 ?? 0n) / 10n ** 6n;

async function history(venue: VenuetwoSim): Promise<readonly Record<string, unknown>[]> {
  const { json } = await agentCall(venue, "POST", "/fapi/v3/aster/deposit-withdraw-history");
  return json as unknown as Record<string, unknown>[];
}

const withdraw = async (venue: VenuetwoSim, params: Record<string, string>, family = "fapi") =>
  (await agentCall(venue, "POST", `/${family}/v3/aster/user-withdraw`, params)).json;

describe("deposits at the local venuetwo", () => {
  it("land in the spot account of the wallet's owner, once they are deep enough", async () => {
    const { world, venue, look, block } = await start([56], 2);
    const user = await startDepositor(world, 56, "USDT", MAIN_WALLET_KEY);
    const before = spotOf(venue);
    const hash = await user.deposit("12.000001");
    await block();
    const row = { type: "DEPOSIT", asset: "USDT", amount: "12.000001", txHash: hash, chainId: 56, accountType: "spot" };
    expect(await history(venue)).toMatchObject([{ ...row, state: "PROCESSING", time: NOW_MS }]);
    expect(spotOf(venue)).toBe(before);
    await block();
    await look();
    expect(await history(venue)).toMatchObject([{ ...row, state: "SUCCESS", time: NOW_MS }]);
    expect(spotOf(venue) - before).toBe(12_000_001n);
  });

  it("land in the perp account where the control route says so, from each of its chains", async () => {
    const { world, venue, block } = await start([1, 42161]);
    expect(await control(venue, "withdrawals", { landing: "perp" })).toMatchObject({ landing: "perp" });
    const before = perpOf(venue);
    for (const chainId of [1, 42161] as const) {
      const user = await startDepositor(world, chainId, "USDT", MAIN_WALLET_KEY);
      await user.deposit("2.5");
      await block(chainId);
    }
    expect(perpOf(venue) - before).toBe(5_000_000n);
    expect(venue.exchange.accounts.conservedE12()).toBe(
      venue.exchange.accounts.all().reduce((sum, { walletE12, spotE12 }) => sum + walletE12 + spotE12, 0n),
    );
  });

  it("open an account for a wallet that the venue has never seen", async () => {
    const { world, venue, block } = await start();
    const user = await startDepositor(world, 56, "USDT", STRANGER_KEY);
    await user.deposit("7");
    await block();
    expect(spotOf(venue, user.address)).toBe(7_000_000n);
    expect(venue.room.keys.accountOf(user.address)).toBe(user.address);
  });

  it("do not count where they are of the native coin, or a plain transfer to the vault", async () => {
    const { world, venue, block } = await start();
    const user = await startDepositor(world, 56, "USDT", MAIN_WALLET_KEY);
    const before = spotOf(venue);
    await user.transfer(WORLD[56].vault, "5");
    await user.depositCoins("1");
    await block();
    expect([spotOf(venue), await history(venue)]).toEqual([before, []]);
  });
});

describe("withdrawals at the local venuetwo", () => {
  it("take amount and fee from the perp account at once, and pay the amount to the wallet on chain", async () => {
    const { world, venue, look, block } = await start();
    const before = perpOf(venue);
    const answer = await withdraw(venue, await withdrawal(NOW_MS, { amount: "30.5", fee: "0.5" }));
    expect(answer).toMatchObject({ withdrawId: expect.stringMatching(/^\d{19}$/), hash: expect.stringMatching(/^0x/) });
    expect(before - perpOf(venue)).toBe(31_000_000n);
    const row = { id: answer["withdrawId"], type: "WITHDRAW", asset: "USDT", amount: "30.5", chainId: 56 };
    expect(await history(venue)).toMatchObject([{ ...row, state: "PROCESSING", txHash: "", accountType: "perp" }]);
    await look();
    const [sent] = await history(venue);
    expect(sent).toMatchObject({ state: "PROCESSING", txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    expect(await world.balance(56, "USDT", mainWallet.address)).toBe("0");
    await block();
    expect(await history(venue)).toMatchObject([{ ...row, state: "SUCCESS", txHash: sent?.["txHash"] }]);
    expect(await world.balance(56, "USDT", mainWallet.address)).toBe("30.5");
    const receipt = await world.chain(56).rpc("eth_getTransactionReceipt", [sent?.["txHash"]]);
    expect(receipt).toMatchObject({ status: "0x1", to: WORLD[56].vault.toLowerCase() });
    expect(venue.log.records({ action: "withdraw" })).toMatchObject([{ qty: "30.5", refusal: null }]);
  });

  it("take from the spot account under the spot path, for V1 keys too, on the chain that was signed", async () => {
    const { world, venue, look, block } = await start([1]);
    const [spot, perp] = [spotOf(venue), perpOf(venue)];
    const answer = await withdraw(venue, await withdrawal(NOW_MS, { chainId: "1", amount: "3" }), "api");
    expect(answer).toMatchObject({ withdrawId: expect.any(String) });
    const { userNonce, ...rest } = await withdrawal(NOW_MS + 1, { chainId: "1", amount: "4" });
    const ofKey = { ...rest, nonce: userNonce ?? "" };
    expect((await signedCall(venue, "POST", "/api/v1/aster/user-withdraw", ofKey)).json).toMatchObject({
      withdrawId: expect.any(String),
    });
    const later = await withdrawal(NOW_MS + 2, { chainId: "1", amount: "5" });
    const ofPerp = { ...later, nonce: later["userNonce"] ?? "" };
    expect((await signedCall(venue, "POST", "/fapi/aster/user-withdraw", ofPerp)).json).toMatchObject({
      withdrawId: expect.any(String),
    });
    expect([spot - spotOf(venue), perp - perpOf(venue)]).toEqual([9_000_000n, 6_000_000n]);
    await look();
    await block();
    expect(await world.balance(1, "USDT", mainWallet.address)).toBe("12");
    const { json } = await signedCall(venue, "POST", "/fapi/aster/deposit-withdraw-history");
    expect((json as unknown as { accountType: string }[]).map(({ accountType }) => accountType)).toEqual([
      "perp",
      "spot",
      "spot",
    ]);
  });

  it.each([
    ["another amount than was signed", { amount: "31" }, -1022],
    ["another chain than was signed", { chainId: "1" }, -1022],
    ["a chain without a vault", { chainId: "10" }, -1130],
    ["another asset", { asset: "USDC" }, -1130],
    ["a fee below the chain's", { fee: "0.00016" }, -1130],
    ["no amount", { amount: "0" }, -1130],
    ["an amount finer than the token", { chainId: "1", amount: "1.0000001" }, -1130],
    ["somebody else's address", { receiver: `0x${"9".repeat(40)}` }, -1130],
  ])("are refused for %s, and nothing is taken", async (_, changes, code) => {
    const { venue } = await start([1, 56]);
    const before = perpOf(venue);
    const params = await withdrawal(NOW_MS, {}, {});
    expect(await withdraw(venue, { ...params, ...changes })).toMatchObject({ code });
    expect(perpOf(venue)).toBe(before);
  });

  it("are taken by the vector's signature, and by no other of its amount", async () => {
    const venue = await startTestVenue({ clock: new VirtualClock(1_761_210_000_000), flow: null });
    onTestFinished(() => venue.stop());
    const keys = { accountId: "dev", deposit: "50", wallet: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266" };
    venue.addAccount({ ...keys, apiKey: "d".repeat(64), apiSecret: API_SECRET });
    const ask = async (changes: Record<string, string>) => {
      const params = { ...VECTOR, ...changes, timestamp: venue.exchange.nowMs() };
      const query = form(params);
      const headers = { "X-MBX-APIKEY": "d".repeat(64) };
      return (await call(venue, "POST", `/fapi/aster/user-withdraw?${query}&signature=${hmac(query)}`, headers)).json;
    };
    expect(await ask({ amount: "31.0" })).toMatchObject({ code: -1022 });
    expect(await ask({})).toMatchObject({ withdrawId: expect.any(String) });
  });

  it("count a wallet's nonce once, or twice where the control route says so", async () => {
    const { world, venue, look, block } = await start();
    const params = await withdrawal(NOW_MS, { amount: "3" });
    expect(await withdraw(venue, params)).toMatchObject({ withdrawId: expect.any(String) });
    expect(await withdraw(venue, params)).toEqual({ code: -4225, msg: "Nonce Duplicated" });
    expect(await control(venue, "withdrawals", { repeatedNonce: "accept" })).toMatchObject({ repeatedNonce: "accept" });
    expect(await withdraw(venue, params)).toMatchObject({ withdrawId: expect.any(String) });
    const late = await withdrawal(NOW_MS + 3_600_001);
    expect(await withdraw(venue, late)).toEqual({ code: -4225, msg: "Nonce Expired" });
    await look();
    await block();
    expect(await world.balance(56, "USDT", mainWallet.address)).toBe("6");
    expect((await call(venue, "POST", "/_sim/withdrawals", {}, '{"landing":"moon"}')).status).toBe(400);
  });

  it("wait while they are held, and give the money back where the vault cannot pay", async () => {
    const { world, venue, look, block } = await start();
    const before = perpOf(venue);
    await control(venue, "withdrawals", { hold: true });
    venue.exchange.desk.adjustWallet(ACCOUNT, 5_000_000n * 10n ** 12n, "ADJUSTMENT");
    await withdraw(venue, await withdrawal(NOW_MS, { amount: "2000000" }));
    await look();
    await block();
    expect(await history(venue)).toMatchObject([{ state: "PROCESSING", txHash: "" }]);
    await control(venue, "withdrawals", { hold: false });
    await look();
    await block();
    expect(await history(venue)).toMatchObject([{ state: "FAILED", txHash: expect.stringMatching(/^0x/) }]);
    expect(perpOf(venue) - before).toBe(5_000_000_000_000n);
    expect(await world.balance(56, "USDT", mainWallet.address)).toBe("0");
    expect(venue.room.money.treasury?.open).toEqual([]);
  });

  it("end at once where the venue has no chains", async () => {
    const venue = await startTestVenue({ clock: new VirtualClock(NOW_MS), flow: null });
    onTestFinished(() => venue.stop());
    venue.room.keys.approve(mainWallet.address.toLowerCase(), agentWallet.address.toLowerCase(), {
      ...{ name: "agent", expiresMs: NOW_MS * 2, canWithdraw: true, ipWhitelist: "127.0.0.1" },
    });
    await withdraw(venue, await withdrawal(NOW_MS));
    expect(await history(venue)).toMatchObject([{ type: "WITHDRAW", state: "SUCCESS", txHash: "" }]);
  });
});

describe("what the local venuetwo says of money", () => {
  it("is how much may be withdrawn on each of its chains", async () => {
    const { venue } = await start([56]);
    const { json } = await agentCall(venue, "POST", "/fapi/v3/aster/user-withdraw-info");
    expect(json).toMatchObject({
      balances: {
        USDT: {
          chainBalances: {
            56: {
              spotMaxWithdrawAmount: "500.00000000",
              perpMaxWithdrawAmount: "100000.00000000",
              withdrawFee: "0.00017",
            },
          },
        },
      },
    });
    expect(
      Object.keys((json as { balances: { USDT: { chainBalances: object } } }).balances.USDT.chainBalances),
    ).toEqual(["56"]);
  });

  it("is the fee of a chain, printed with an exponent where it is small, and no fee of others", async () => {
    const { venue } = await start([56]);
    const ask = async (query: string) => call(venue, "GET", `${GATEWAY}/estimate-withdraw-fee?${query}`);
    const { text, json } = await ask("chainId=56&network=EVM&currency=USDT&accountType=spot");
    expect(text).toContain('"gasCost":1.7E-4');
    expect(json).toMatchObject({ code: "000000", success: true, data: { gasCost: 0.00017 } });
    expect((await ask("chainId=10&network=EVM&currency=USDT")).json).toMatchObject({ success: false, data: null });
    expect(
      (await call(venue, "GET", "/api/v1/aster/withdraw/estimateFee?chainId=42161&asset=USDT")).json,
    ).toMatchObject({
      gasCost: 0.02,
    });
  });

  it("is the tokens of its chains as the local world has them", async () => {
    const { venue } = await start([1, 56]);
    for (const page of ["deposit/assets", "withdraw/assets"]) {
      const { json } = await call(venue, "GET", `${GATEWAY}/${page}?chainIds=56,42161&networks=EVM&accountType=spot`);
      expect(json).toMatchObject({
        data: [{ name: "USDT", chainId: 56, decimals: 18, contractAddress: WORLD[56].tokens["USDT"]?.address }],
      });
    }
  });
});
