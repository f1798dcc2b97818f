/** Money of the local venueone on chain: deposits by transfers to its bridge, withdrawals out of it. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Hex } from "viem";
import { startDepositor } from "../../chain/test/depositor.js";
import { type ChainWorld, startChainWorld } from "../../chain/world.js";
import { WORLD } from "../../chain/world-plan.js";
import { ALICE, addressOf, type Bench, FIELDS, KEYS, startBench } from "./kit.js";

const BRIDGE = WORLD[42161].bridge as Hex;
const ELSEWHERE: Hex = "0x00000000000000000000000000000000000000dd";
const STRANGER = addressOf(KEYS.stranger);
const OK = { status: "ok", response: { type: "default" } };

interface MoneyBench extends Bench {
  readonly world: ChainWorld;
  /** One look of the venue at its chain. */
  look(): Promise<unknown>;
  /** A block, then a look. */
  block(): Promise<unknown>;
}

async function start(confirmations = 1): Promise<MoneyBench> {
  const world = await startChainWorld({ chainIds: [42161], mining: { kind: "manual" } });
  onTestFinished(() => world.stop());
  const bench = await startBench({ chains: { rpcUrls: world.rpcUrls, confirmations } });
  onTestFinished(() => bench.stop());
  const look = async () => (await bench.post("/_sim/chains", "{}")).json;
  return {
    ...bench,
    world,
    look,
    async block() {
      await world.chain(42161).mine();
      return look();
    },
  };
}

async function withdrawable(bench: Bench, user: string): Promise<unknown> {
  return ((await bench.info({ type: "clearinghouseState", user })) as Record<string, unknown>)["withdrawable"];
}

async function ledger(bench: Bench, user: string): Promise<readonly unknown[]> {
  const rows = (await bench.info({ type: "userNonFundingLedgerUpdates", user })) as { delta: unknown }[];
  return rows.map(({ delta }) => delta);
}

const withdraw = (bench: Bench, amount: string, nonce: number, destination: string = ELSEWHERE) =>
  bench.actAsUser(KEYS.alice, { type: "withdraw3", destination, amount }, FIELDS.withdraw3, { nonce });

describe("deposits at the local venueone", () => {
  it("credit the sender of the transfer once it is deep enough, with a row", async () => {
    const bench = await start(2);
    const alice = await startDepositor(bench.world, 42161, "USDC", KEYS.alice);
    await alice.transfer(BRIDGE, "12.5");
    expect(await bench.block()).toMatchObject({ pending: [{ account: ALICE, chainId: 42161 }], problem: null });
    expect(await withdrawable(bench, ALICE)).toBe("100000.0");
    await bench.block();
    await bench.look();
    expect(await withdrawable(bench, ALICE)).toBe("100012.5");
    expect(await ledger(bench, ALICE)).toEqual([
      { type: "deposit", usdc: "100000.0" },
      { type: "deposit", usdc: "12.5" },
    ]);
  });

  it("are looked for at intervals of the venue's own clock", async () => {
    const bench = await start();
    const alice = await startDepositor(bench.world, 42161, "USDC", KEYS.alice);
    await alice.transfer(BRIDGE, "6");
    await bench.world.chain(42161).mine();
    bench.clock.advance(99);
    expect(bench.sim.room.bridge?.treasury.isBusy).toBe(false);
    bench.clock.advance(1);
    expect(bench.sim.room.bridge?.treasury.isBusy).toBe(true);
    await bench.look();
    expect(await withdrawable(bench, ALICE)).toBe("100006.0");
  });

  it("open an account for who had none, and are lost below five", async () => {
    const bench = await start();
    const stranger = await startDepositor(bench.world, 42161, "USDC", KEYS.stranger);
    await stranger.transfer(BRIDGE, "4.999999");
    await bench.block();
    expect(await bench.info({ type: "userRole", user: STRANGER })).toEqual({ role: "missing" });
    await stranger.transfer(BRIDGE, "5");
    await bench.block();
    expect(await withdrawable(bench, STRANGER)).toBe("5.0");
    expect(await ledger(bench, STRANGER)).toEqual([{ type: "deposit", usdc: "5.0" }]);
    expect(await bench.world.balance(42161, "USDC", BRIDGE)).toBe("1000009.999999");
  });
});

describe("withdrawals at the local venueone", () => {
  it("leave the account at once, and reach the destination without the fee after request and finalization", async () => {
    const bench = await start();
    const nonce = bench.nextNonce();
    expect(await withdraw(bench, "100.25", nonce)).toEqual(OK);
    expect(await withdrawable(bench, ALICE)).toBe("99899.75");
    expect((await ledger(bench, ALICE)).at(-1)).toEqual({ type: "withdraw", usdc: "99.25", nonce, fee: "1.0" });
    expect(await bench.look()).toMatchObject({ open: [{ state: "PROCESSING", hash: null }] });
    expect(await bench.block()).toMatchObject({ open: [{ hash: expect.stringMatching(/^0x/) }] });
    expect(await bench.world.balance(42161, "USDC", ELSEWHERE)).toBe("0");
    expect(await bench.block()).toMatchObject({ open: [] });
    expect(await bench.world.balance(42161, "USDC", ELSEWHERE)).toBe("99.25");
    const logs = (await bench.world.chain(42161).rpc("eth_getLogs", [{ address: BRIDGE, fromBlock: "0x0" }])) as {
      topics: Hex[];
      data: Hex;
    }[];
    expect(logs.map(({ topics }) => topics[1]?.slice(-40))).toEqual([ALICE.slice(2), ALICE.slice(2)]);
    // Destination, amount, nonce: both events carry them in this order.
    for (const { data } of logs) {
      const words = data.slice(2).match(/.{64}/g) ?? [];
      expect(words.slice(0, 3).map((word) => BigInt(`0x${word}`))).toEqual([
        BigInt(ELSEWHERE),
        99_250_000n,
        BigInt(nonce),
      ]);
    }
  });

  it("are executed once for a nonce, and logged", async () => {
    const bench = await start();
    const nonce = bench.nextNonce();
    expect(await withdraw(bench, "10", nonce)).toEqual(OK);
    expect(await withdraw(bench, "10", nonce)).toMatchObject({ status: "err" });
    expect(await withdraw(bench, "999999", bench.nextNonce())).toMatchObject({ status: "err" });
    await bench.look();
    await bench.block();
    await bench.block();
    expect(await bench.world.balance(42161, "USDC", ELSEWHERE)).toBe("9");
    const records = bench.sim.log.records({ action: "withdraw" });
    expect(records.map(({ qty, refusal }) => [qty, refusal?.text ?? null])).toEqual([
      ["10", null],
      ["999999", "Insufficient balance for withdrawal."],
    ]);
  });

  it("wait while they are held, and come back where the bridge cannot pay", async () => {
    const bench = await start();
    expect((await bench.post("/_sim/withdrawals", '{"hold":true}')).json).toMatchObject({ hold: true });
    bench.sim.exchange.desk.adjustWallet(ALICE, 2_000_000n * 10n ** 12n, "ADJUSTMENT");
    await withdraw(bench, "1500000", bench.nextNonce());
    expect(await bench.block()).toMatchObject({ open: [{ hash: null }] });
    await bench.post("/_sim/withdrawals", '{"hold":false}');
    await bench.look();
    await bench.block();
    expect(await bench.block()).toMatchObject({ open: [] });
    expect(await withdrawable(bench, ALICE)).toBe("2100000.0");
    expect((await bench.post("/_sim/withdrawals", "{}")).status).toBe(400);
  });
});
