/** What the benchmarks know of venueone. */
import { privateKeyToAccount } from "viem/accounts";
import type { VenueRoom } from "../../engine/ports.js";
import { NameTable } from "../../feeds/shared/book/name-table.js";
import { MarketApplier, TIER_FAST } from "../../feeds/venueone/market/apply.js";
import { DepthScanner, SCAN_BOOK } from "../../feeds/venueone/market/scan.js";
import { createVenueoneRoom, type VenueoneRoomOptions } from "../../feeds/venueone/room.js";
import { L1Signer, limitOrderAction } from "../../feeds/venueone/sign/sign.js";
import { frameOf, type Tape, walkingBooks } from "../lib/format-tapes.js";
import { loadRecording } from "../lib/recording.js";
import { WORLD, worldToken } from "../sim/chain/world-plan.js";
import { LOCAL_VENUES } from "../sim/venues.js";
import { type DirectOrders, JSON_TYPE, sendDirectly, SIZE, WORST_PRICE } from "./direct-orders.js";
import {
  type Format,
  type Ingest,
  marketOf,
  SENT_DIRECTLY,
  SIGNED_AT_MS,
  type Signing,
  SIGNING_KEY,
  SIGNING_KEY_HEX,
  type VenueBench,
} from "./venue-bench.js";

const BRIDGE_CHAIN_ID = 42161;
const VENUEONE_RECORDING = "hyperliquid_btc_20250126.raw.gz";

export const venueone: VenueBench = {
  close: {
    offered: { 1: 20, 50: 100, 500: 200 },
    peerName: SENT_DIRECTLY,
    startDirect: async (target) => sendDirectly(directOrders(), target),
  },
  signings: async () => [orderSigning()],
  formats({ dataFolder }, count): readonly Format[] {
    const common = {
      venue: "venueone",
      ccxtClass: "hyperliquid",
      ccxtMarketId: "BTC/USDC:USDC",
      priceDecimals: 1,
      qtyDecimals: 5,
      open: openIngest,
    } as const;
    return [
      { ...common, tape: dataFolder === null ? generatedBooks(count, 20) : recordedBooks(dataFolder) },
      { ...common, tape: generatedBooks(count, 5) },
    ];
  },
};

/** Not started: what is measured with it asks no venue, and its way for money is over the local chain. */
export function venueoneMoneyRoom(
  parts: Pick<VenueoneRoomOptions, "clock" | "random" | "logger" | "nonces">,
  minimum: bigint,
): VenueRoom {
  const { symbol, decimals, address } = worldToken(BRIDGE_CHAIN_ID, "USDC");
  return createVenueoneRoom({
    ...{ ...parts, restUrl: "http://127.0.0.1:1", wsUrl: "ws://127.0.0.1:1", isMainnet: true, symbols: ["BTC"] },
    moneyRoute: {
      ...{ chainId: BRIDGE_CHAIN_ID, symbol, decimals, address, resetsAllowance: false, minimum },
      bridge: WORLD[BRIDGE_CHAIN_ID].bridge ?? "",
    },
  });
}

function directOrders(): DirectOrders {
  const signer = new L1Signer(true);
  const privateKey = Buffer.from(LOCAL_VENUES.venueone.trader.agentPrivateKey.slice(2), "hex");
  let lastNonce = 0;
  return {
    next() {
      lastNonce = Math.max(Date.now(), lastNonce + 1);
      const nonce = lastNonce;
      const order = {
        asset: 0,
        isBuy: false,
        price: WORST_PRICE,
        size: SIZE,
        reduceOnly: true,
        tif: "Ioc" as const,
        cloid: `0x${nonce.toString(16).padStart(32, "0")}`,
      };
      const signature = signer.signConnectionId(
        signer.hashAction(limitOrderAction(order), nonce, null, null),
        privateKey,
      );
      const body = JSON.stringify({ action: limitOrderAction(order), nonce, signature });
      return { path: "/exchange", headers: JSON_TYPE, body };
    },
    isTaken: (text) => text.includes('"filled"'),
  };
}

function orderSigning(): Signing {
  const signer = new L1Signer(true);
  const account = privateKeyToAccount(SIGNING_KEY_HEX);
  const order = {
    asset: 0,
    isBuy: false,
    price: "97403",
    size: "0.25",
    reduceOnly: true,
    tif: "Ioc" as const,
    cloid: "0x0123456789abcdef0123456789abcdef",
  };
  const connectionId = `0x${Buffer.from(signer.hashAction(limitOrderAction(order), SIGNED_AT_MS, null, SIGNED_AT_MS + 5_000)).toString("hex")}`;
  return {
    what: "venueone: order packed, hashed, signed",
    ours: (index) =>
      signer.signConnectionId(
        signer.hashAction(limitOrderAction(order), SIGNED_AT_MS + index, null, SIGNED_AT_MS + 5_000),
        SIGNING_KEY,
      ),
    peerName: "viem signTypedData",
    peer: () =>
      account.signTypedData({
        domain: {
          name: "Exchange",
          version: "1",
          chainId: 1337,
          verifyingContract: "0x0000000000000000000000000000000000000000",
        },
        types: {
          Agent: [
            { name: "source", type: "string" },
            { name: "connectionId", type: "bytes32" },
          ],
        },
        primaryType: "Agent",
        message: { source: "a", connectionId: connectionId as `0x${string}` },
      }),
    goalUs: null,
    detail: "the peer is handed the packed order's hash",
    peerShare: 0.25,
  };
}

function openIngest(priceDecimals: number, qtyDecimals: number): Ingest {
  const scanner = new DepthScanner();
  const market = marketOf("venueone", priceDecimals, qtyDecimals);
  const coins = new NameTable<MarketApplier>();
  const applier = new MarketApplier(market);
  coins.set("BTC", applier);
  return {
    book: market.book,
    restart: () => applier.reset(TIER_FAST),
    take({ bytes }) {
      if (scanner.scan(bytes) !== SCAN_BOOK) throw new Error("the scanner declined a frame");
      coins.find(bytes, scanner.coinStart, scanner.coinEnd)?.applyBook(scanner, TIER_FAST, 0, 0);
    },
  };
}

/** 46 whole books of 20 levels a side. */
function recordedBooks(dataFolder: string): Tape {
  const frames = loadRecording(dataFolder, VENUEONE_RECORDING).filter(({ text }) => text.includes('"l2Book"'));
  return { what: "recorded books of 20 levels", frames };
}

/** Whole books around a walking price; each differs from the one before. */
function generatedBooks(count: number, levelCount: number): Tape {
  const level = (price: number, size: string, orders: number) => ({ px: price.toFixed(1), sz: size, n: orders });
  const frames = walkingBooks(count, levelCount, level).map(({ bids, asks, timeMs }) =>
    frameOf("depth", JSON.stringify({ channel: "l2Book", data: { coin: "BTC", time: timeMs, levels: [bids, asks] } })),
  );
  return { what: `generated books of ${levelCount} levels`, frames };
}
