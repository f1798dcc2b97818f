/** Pairs of the chain against the map: nothing is shown under a symbol that means something else there. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTrader } from "../../bench/sim/venuefive/test/trader.js";
import { startVenuefive, type VenuefiveWorld } from "../../bench/sim/venuefive/world.js";
import { parsePairs } from "./market/pair-map.js";
import { READ, type RoomStand, type RoomStandOptions, startRoomStand } from "./test/room-stand.js";

const PEPE = 21;
const NOBODY = `0x${"ab".repeat(20)}`;
const NEW_PAIR = { symbol: "NEW", price: "2", leverageMax: 20, hasZeroFee: false };

let world: VenuefiveWorld;
let undo: () => Promise<void>;
beforeAll(async () => {
  world = await startVenuefive();
});
beforeEach(async () => {
  undo = await world.snapshot();
});
afterEach(() => undo());
afterAll(() => world.stop());

async function started(options: RoomStandOptions = {}): Promise<RoomStand> {
  const stand = await startRoomStand(world, options);
  await stand.settled(stand.room.start());
  return stand;
}

function mapOf(text: string) {
  const parsed = parsePairs(text.split(","));
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.map;
}

describe("pairs of venuefive", () => {
  it("that are others at the start make the room DOWN, by name, and positions are refused; balances are not", async () => {
    await world.turn("PairStorage", "renamePair", [PEPE, "XAU"]);
    await world.turn("PairStorage", "renamePair", [3, "POL"]);
    const { room, settled, lines } = await started();
    const differing = [
      { index: 3, here: "ARB", chain: "POL" },
      { index: PEPE, here: "PEPE", chain: "XAU" },
    ];
    const problem =
      "pairs of the chain are not those of the map: 3 is ARB here and POL there, 21 is PEPE here and XAU there";
    expect(room.status()).toMatchObject({ state: "DOWN", problem, differingPairs: differing });
    const refused = { ok: false, code: "PAIRS_DIFFER", message: problem, retryAfterMs: null };
    expect(await settled(room.readPositions(NOBODY, READ))).toEqual(refused);
    expect(await settled(room.readOpenOrders(NOBODY, READ))).toEqual(refused);
    expect(await settled(room.readBalances(NOBODY, READ))).toMatchObject({ ok: true });
    expect(lines).toContainEqual({ event: "venuefive.pairs_differ", fields: { problem } });
  });

  it("that become others while it runs are found at the interval, and so is their return", async () => {
    const { room, settled, holds } = await started({ parts: { pairsEveryBlocks: 10 } });
    expect(room.status()).toMatchObject({ state: "LIVE", differingPairs: [] });
    await world.turn("PairStorage", "renamePair", [PEPE, "XAU"]);
    await world.chain.mine(10);
    await holds(() => room.status().state === "DOWN");
    expect(room.status().differingPairs).toEqual([{ index: PEPE, here: "PEPE", chain: "XAU" }]);
    expect(await settled(room.readPositions(NOBODY, READ))).toMatchObject({ ok: false, code: "PAIRS_DIFFER" });
    await world.turn("PairStorage", "renamePair", [PEPE, "PEPE"]);
    await world.chain.mine(10);
    await holds(() => room.status().state === "LIVE");
    expect(await settled(room.readPositions(NOBODY, READ))).toMatchObject({ ok: true });
  });

  it("that become others in place are found by the next read of a wallet that holds one, long before the interval", async () => {
    const [holder, other] = [await startTrader(world, 1), await startTrader(world, 2)];
    await holder.opened({ pairIndex: PEPE, collateral: "50", leverage: "10", price: "0.0000062" });
    await other.opened({ pairIndex: 1, collateral: "50", leverage: "10", price: "92400" });
    const { room, settled, atTip } = await started({ parts: { pairsEveryBlocks: 100_000 } });
    const positions = (address: string) => settled(room.readPositions(address, READ));
    expect(await positions(holder.address)).toMatchObject({ ok: true, value: [{ symbol: "PEPE" }] });
    await world.turn("PairStorage", "renamePair", [PEPE, "XAU"]);
    await atTip();
    expect(await positions(other.address)).toMatchObject({ ok: true, value: [{ symbol: "BTC" }] });
    expect(await positions(holder.address)).toMatchObject({ ok: false, code: "PAIRS_DIFFER" });
    expect(room.status().differingPairs).toEqual([{ index: PEPE, here: "PEPE", chain: "XAU" }]);
  });

  it("that are added while it runs are read at once, under a name of their index", async () => {
    const one = await startTrader(world, 1);
    const { room, settled, proxies, atTip } = await started();
    expect(await settled(room.readPositions(one.address, READ))).toMatchObject({ ok: true, value: [] });
    await world.addPairs([NEW_PAIR]);
    await one.opened({ pairIndex: 51, collateral: "50", leverage: "10", price: "2" });
    await atTip();
    const before = proxies[0]?.walletReads().length ?? 0;
    const read = await settled(room.readPositions(one.address, READ));
    expect(read.ok && read.value.map(({ pairIndex, symbol, size }) => [pairIndex, symbol, size])).toEqual([
      [51, "PAIR_51", "248.875"],
    ]);
    // The first of them found the new number, the second what it has of them, the third had the page.
    expect((proxies[0]?.walletReads().length ?? 0) - before).toBe(3);
    expect(room.status().state).toBe("LIVE");
  });

  it("that are added and are others than the map says are found by the read of a wallet", async () => {
    const { room, settled, atTip } = await started({ parts: { map: mapOf("ETH=0,BTC=1,GOLD=51") } });
    expect(room.status()).toMatchObject({ state: "LIVE", differingPairs: [] });
    await world.addPairs([NEW_PAIR]);
    await atTip();
    expect(await settled(room.readPositions(NOBODY, READ))).toMatchObject({ ok: false, code: "PAIRS_DIFFER" });
    expect(room.status().differingPairs).toEqual([{ index: 51, here: "GOLD", chain: "NEW" }]);
  });

  it("have the names of a map of the operator's own", async () => {
    const one = await startTrader(world, 1);
    await one.opened({ pairIndex: 2, collateral: "50", leverage: "10", price: "141.5" });
    await one.opened({ pairIndex: 0, collateral: "50", leverage: "10", price: "3180" });
    const { room, settled } = await started({ parts: { map: mapOf("ETH=0,btc=1") } });
    const read = await settled(room.readPositions(one.address, READ));
    expect(read.ok && read.value.map(({ symbol }) => symbol)).toEqual(["ETH", "PAIR_2"]);
  });

  it("that become dollar based while a wallet is read have the size of the comparison that its names passed", async () => {
    const [slow, quick] = [await startTrader(world, 1), await startTrader(world, 2)];
    await world.addPairs([NEW_PAIR]);
    for (const one of [slow, quick]) await one.opened({ pairIndex: 51, collateral: "50", leverage: "10", price: "2" });
    const { room, settled, proxies, atTip } = await started({ parts: { pairsEveryBlocks: 100_000 } });
    const sizes = async (address: string) => {
      const read = await settled(room.readPositions(address, READ));
      return read.ok ? read.value.map(({ size }) => size) : read;
    };
    for (const { address } of [slow, quick]) expect(await sizes(address)).toEqual(["248.875"]);
    await world.turn("PairStorage", "renamePair", [51, "USD"]);
    await atTip();
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const [proxy] = proxies;
    if (proxy === undefined) throw new Error("there is no endpoint");
    let isHeld = false;
    proxy.twist = async ({ params }) => {
      if (!JSON.stringify(params).includes(slow.address.slice(2).toLowerCase())) return undefined;
      isHeld = true;
      await held;
      return undefined;
    };
    const slowSizes = sizes(slow.address);
    while (!isHeld) await new Promise((resolve) => setImmediate(resolve));
    expect(await sizes(quick.address)).toEqual(["497.75"]);
    letGo();
    expect(await slowSizes).toEqual(["497.75"]);
  });

  it("with more slots than before are read with all of them", async () => {
    const one = await startTrader(world, 1);
    await world.turn("TradingStorage", "setMaxTradesPerPair", [1]);
    const { room, settled, atTip } = await started();
    await world.turn("TradingStorage", "setMaxTradesPerPair", [3]);
    for (let slot = 0; slot < 3; slot++)
      await one.opened({ pairIndex: 0, collateral: "50", leverage: "10", price: "3180" });
    await atTip();
    const read = await settled(room.readPositions(one.address, READ));
    expect(read.ok && read.value.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  it("of a contract that is not there make the room DOWN, and it says why", async () => {
    const { TradingStorage, Multicall, Usdc } = world.addresses;
    const addresses = { TradingStorage, Multicall, USDC: Usdc, PairStorage: NOBODY };
    const { room, settled } = await started({ parts: { addresses } });
    expect(room.status().state).toBe("DOWN");
    expect(room.status().problem).toMatch(/^the pairs could not be compared: .*not one word/);
    expect(await settled(room.readPositions(NOBODY, READ))).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });
});
