/** Positions in contracts that are not followed, or not listed at all, over HTTP and the stream: never hidden, never flat. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { VenueRoom } from "../../engine/ports.js";
import type { Reply } from "./client.js";
import { createFakeDesk } from "./fake-desk.js";
import { createFakeRoom, fakeMarket } from "./fake-room.js";
import { tradingWith } from "./fake-trading.js";
import { type Harness, startHarness } from "./harness.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";

const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const WALLET = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const KEY = { apiKey: "key", apiSecret: "secret", walletAddress: ADDRESS };

let harness: Harness;

/** Follows BTC, knows ASTER too, and holds both beside a contract that is not listed any more. */
function roomOfThree(): VenueRoom {
  const btc = fakeMarket(anInstrument({ venue: "venuetwo" }));
  const aster = anInstrument({ venue: "venuetwo", symbol: "ASTER", qtyDecimals: 1 });
  const room = createFakeRoom("venuetwo", [btc], () => Date.now());
  room.held.set("BTC", 300);
  const readPositions: VenueRoom["reader"]["readPositions"] = async (session, instrument, options) => {
    const read = await room.reader.readPositions(session, instrument, options);
    const [sample] = read.ok ? read.value : [];
    if (!read.ok || sample === undefined || instrument !== null) return read;
    const others: readonly Partial<VenuePosition>[] = [
      { symbol: "ASTER", nativeSymbol: "ASTERUSDT", direction: "SHORT", qtyLots: 5, markPrice: "2" },
      { symbol: "GONEUSDT", nativeSymbol: "GONEUSDT", direction: "SHORT", qtyLots: 0, uncounted: "12.5" },
    ];
    return { ...read, value: [sample, ...others.map((other) => ({ ...sample, ...other }))] };
  };
  return {
    ...room,
    instruments: new Map([
      ["BTC", btc.instrument],
      ["ASTER", aster],
    ]),
    reader: { ...room.reader, readPositions },
  };
}

beforeAll(async () => {
  harness = await startHarness({
    rooms: [roomOfThree()],
    trading: tradingWith(createFakeDesk(), [
      { ownerId: null, walletId: WALLET, userId: "alice", address: ADDRESS, credentials: { venuetwo: KEY } },
    ]),
  });
});
afterAll(async () => {
  await harness.stop();
});

function get(path: string): Promise<Reply> {
  return harness.client.send(path, { method: "GET", headers: { "x-wallet-id": WALLET } });
}

const SHOWN = [
  { symbol: "BTC", size: "0.3" },
  { symbol: "ASTER", nativeSymbol: "ASTERUSDT", direction: "SHORT", size: "0.5", markPrice: "2" },
];
const UNLISTED = {
  state: "SNAPSHOT",
  error: { code: "POSITION_UNLISTED", message: expect.stringContaining("GONEUSDT") },
};

describe("positions that this service does not follow", () => {
  it("are listed where they can be counted, and named in the coverage where they cannot", async () => {
    const one = await get(`/api/trading/venuetwo/positions/${ADDRESS}`);
    expect(one.body).toMatchObject({ positions: SHOWN, totalPositions: 2, coverage: UNLISTED });
    const all = await get(`/api/trading/positions/all/${ADDRESS}`);
    expect(all.body).toMatchObject({ positions: SHOWN, totalPositions: 2, coverage: { venuetwo: UNLISTED } });
  });

  it("are in venuetwo's native list, the one that nobody can count as the venue prints it", async () => {
    const reply = await get(`/api/venuetwo/perp/${WALLET}/positions`);
    expect(reply.body).toMatchObject({
      data: {
        positions: [
          { symbol: "BTCUSDT", positionAmt: "0.3" },
          { symbol: "ASTERUSDT", positionAmt: "-0.5" },
          { symbol: "GONEUSDT", positionAmt: "-12.5" },
        ],
        total: 3,
      },
    });
  });

  it("change nothing of what is listed: an unfollowed symbol has no ticker and no order", async () => {
    const instruments = (await get("/api/instruments")).text;
    expect(instruments).toContain("BTCUSDT");
    expect(instruments).not.toContain("ASTER");
    expect((await get("/api/trading/venuetwo/ticker/ASTER")).status).toBe(404);
  });
});
