/** The room against the contracts of the local venue: what a trader did is what it shows. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTrader, type VenuefiveTrader } from "../../bench/sim/venuefive/test/trader.js";
import { startVenuefive, type VenuefiveWorld } from "../../bench/sim/venuefive/world.js";
import { READ, type RoomStand, startRoomStand } from "./test/room-stand.js";

const [ETH, BTC, PEPE] = [0, 1, 21];
let world: VenuefiveWorld;
let undo: () => Promise<void>;
let nextTrader = 1;
const trader = (usdc?: string): Promise<VenuefiveTrader> => startTrader(world, nextTrader++, usdc);

beforeAll(async () => {
  world = await startVenuefive();
});
afterAll(() => world.stop());

async function startedStand(...options: Parameters<typeof startRoomStand> extends [unknown, ...infer Rest] ? Rest : []): Promise<RoomStand> {
  const stand = await startRoomStand(world, ...options);
  await stand.settled(stand.room.start());
  return stand;
}

describe("the room of venuefive", () => {
  it("shows a position as its trade opened it, with the fee taken from the collateral", async () => {
    const one = await trader();
    const index = await one.opened({ pairIndex: BTC, collateral: "100", leverage: "10", price: "92400", sl: "90000" });
    const { room, settled, atTip } = await startedStand();
    await atTip();
    const read = await settled(room.readPositions(one.address, READ));
    if (!read.ok) throw new Error(read.message);
    const [position] = read.value;
    expect(read.value.length).toBe(1);
    expect(position).toMatchObject({ pairIndex: BTC, index, symbol: "BTC", direction: "LONG", collateral: "99.55" });
  });
});
