/** What the benchmarks know of venuetwo, whose diffs need a chain of snapshots: ingest.ts and the desk play them. */
import { createHmac } from "node:crypto";
import { privateKeyToAccount } from "viem/accounts";
import { Book } from "../../engine/market/book.js";
import type { Market } from "../../engine/market/market.js";
import { Touch } from "../../engine/market/touch.js";
import { VenuetwoDecoder } from "../../feeds/venuetwo/market/decode.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH } from "../../feeds/venuetwo/market/frame.js";
import { BookSync } from "../../feeds/venuetwo/market/sync.js";
import { createVenuetwoRoom } from "../../feeds/venuetwo/room.js";
import { encodeForm, MESSAGE_CHAIN_ID, MessageSigner, signHmac } from "../../feeds/venuetwo/sign/sign.js";
import type { RecordedFrame } from "../lib/recording.js";
import { LOCAL_VENUES } from "../sim/venues.js";
import { type DirectOrders, FORM_TYPE, sendDirectly, SIZE } from "./direct-orders.js";
import {
  type EndTouch,
  SENT_DIRECTLY,
  SIGNED_AT_MS,
  type Signing,
  SIGNING_KEY,
  SIGNING_KEY_HEX,
  type VenueBench,
} from "./venue-bench.js";

/** The venue refuses prices more than 2 % from its mark, which wanders. */
const WORST_SHARE = 0.99;

export const venuetwo: VenueBench = {
  close: {
    offered: { 1: 20, 50: 100, 500: 200 },
    peerName: SENT_DIRECTLY,
    startDirect: async (target) => sendDirectly(await directOrders(target.restUrl), target),
  },
  signings: async () => [keySigning(), agentSigning()],
  formats: () => [],
};

/** The local venue that lists many contracts, in a process of its own, and the room that follows all of them. */
export const venuetwoManyMarkets = {
  child: "sim/venuetwo/many-markets.child.js",
  createRoom: (parts: Omit<Parameters<typeof createVenuetwoRoom>[0], "symbols" | "isMainnet">) =>
    createVenuetwoRoom({ ...parts, symbols: "all", isMainnet: true }),
};

async function directOrders(target: string): Promise<DirectOrders> {
  const { apiKey, apiSecret } = LOCAL_VENUES.venuetwo.trader;
  const asked = await fetch(`${target}/fapi/v1/premiumIndex?symbol=BTCUSDT`);
  const { markPrice } = (await asked.json()) as { readonly markPrice: string };
  // A price of the peer's load, in whole units. No order of the product is computed this way.
  const worstPrice = String(Math.floor(Number(markPrice) * WORST_SHARE));
  let count = 0;
  return {
    next() {
      const form = encodeForm([
        ["symbol", "BTCUSDT"],
        ["side", "SELL"],
        ["reduceOnly", "true"],
        ["type", "LIMIT"],
        ["timeInForce", "IOC"],
        ["quantity", SIZE],
        ["price", worstPrice],
        ["newClientOrderId", `direct${process.pid}x${count++}`],
        ["newOrderRespType", "RESULT"],
        ["recvWindow", "5000"],
        ["timestamp", String(Date.now())],
      ]);
      const signature = createHmac("sha256", apiSecret).update(form).digest("hex");
      return {
        path: "/fapi/v1/order",
        headers: { ...FORM_TYPE, "x-mbx-apikey": apiKey },
        body: `${form}&signature=${signature}`,
      };
    },
    isTaken: (text) => text.includes('"FILLED"'),
  };
}

const ORDER_FORM = [
  ["symbol", "BTCUSDT"],
  ["side", "SELL"],
  ["reduceOnly", "true"],
  ["type", "LIMIT"],
  ["timeInForce", "IOC"],
  ["quantity", "0.250"],
  ["price", "97403.0"],
  ["newClientOrderId", "0123456789abcdef0123456789abcdef"],
  ["newOrderRespType", "RESULT"],
  ["recvWindow", "5000"],
] as const;

function keySigning(): Signing {
  const secret = Buffer.from("a".repeat(64));
  const ready = encodeForm([...ORDER_FORM, ["timestamp", String(SIGNED_AT_MS)]]);
  return {
    what: "venuetwo, API key: form encoded and signed",
    ours: (index) => signHmac(secret, "", encodeForm([...ORDER_FORM, ["timestamp", String(SIGNED_AT_MS + index)]])),
    peerName: "node:crypto HMAC alone",
    peer: () => createHmac("sha256", secret).update(ready).digest("hex"),
    goalUs: null,
    detail: "the peer is handed the encoded form",
  };
}

function agentSigning(): Signing {
  const signer = new MessageSigner(MESSAGE_CHAIN_ID.mainnet);
  const account = privateKeyToAccount(SIGNING_KEY_HEX);
  const ready = encodeForm([...ORDER_FORM, ["nonce", String(SIGNED_AT_MS * 1_000)]]);
  return {
    what: "venuetwo, agent: form encoded, hashed, signed",
    ours: (index) =>
      signer.sign(encodeForm([...ORDER_FORM, ["nonce", String(SIGNED_AT_MS * 1_000 + index)]]), SIGNING_KEY),
    peerName: "viem signTypedData",
    peer: () =>
      account.signTypedData({
        domain: {
          name: "AsterSignTransaction",
          version: "1",
          chainId: MESSAGE_CHAIN_ID.mainnet,
          verifyingContract: "0x0000000000000000000000000000000000000000",
        },
        types: { Message: [{ name: "msg", type: "string" }] },
        primaryType: "Message",
        message: { msg: ready },
      }),
    goalUs: null,
    detail: "the peer is handed the encoded form",
    peerShare: 0.25,
  };
}

// ---------------------------------------------------------------- diffs

const DIFF_SYMBOL = "BTCUSDT";

/**
 * The last run's objects stay reachable, as those of a running room do. Without a live one, the collection between runs
 * would drop their hidden classes and with them the compiled code, and each run would measure the compiler.
 */
let alive: readonly object[] = [];

function playDiffs(frames: readonly RecordedFrame[]): EndTouch {
  const decoder = new VenuetwoDecoder();
  const slot = decoder.register(DIFF_SYMBOL, 2, 3);
  // The venue's increment for this contract, as exchangeInfo states it: 0.1.
  const book = new Book(10);
  const sync = new BookSync(book, () => {});
  const touch = new Touch();
  alive = [decoder, book, sync, touch, ...alive.slice(0, 4)];
  sync.begin();
  const { frame } = decoder;
  for (const recorded of frames) {
    const { bytes } = recorded;
    if (recorded.kind === "snapshot") {
      decoder.decodeSnapshot(bytes, 0, bytes.length, slot);
      sync.onSnapshot(frame, 0);
      continue;
    }
    const kind = decoder.decodeFrame(bytes, 0, bytes.length);
    if (kind === FRAME_DEPTH) sync.onDiff(frame, 0);
    else if (kind === FRAME_BOOK_TICKER) {
      touch.set(
        frame.touchBidTicks,
        frame.touchBidLots,
        frame.touchAskTicks,
        frame.touchAskLots,
        frame.lastId,
        frame.tsEventMs,
        0,
      );
    }
  }
  return { bid: book.bidTicks(0) / 100, ask: book.askTicks(0) / 100 };
}

/** Feeds frames into one market, as its room does. */
class DiffReader {
  readonly #market: Market;
  readonly #decoder = new VenuetwoDecoder();
  readonly #sync: BookSync;
  readonly #slot: number;

  constructor(market: Market) {
    const { nativeSymbol, priceDecimals, qtyDecimals } = market.instrument;
    this.#market = market;
    this.#sync = new BookSync(market.book, () => {});
    this.#slot = this.#decoder.register(nativeSymbol, priceDecimals, qtyDecimals);
    this.#sync.begin();
  }

  /** Best bid of a snapshot, -1 for every other frame. */
  take(recorded: RecordedFrame, nowNs: number): number {
    const { bytes } = recorded;
    const frame = this.#decoder.frame;
    if (recorded.kind === "snapshot") {
      this.#decoder.decodeSnapshot(bytes, 0, bytes.length, this.#slot);
      this.#sync.onSnapshot(frame, nowNs);
      return frame.bidTicks[0] ?? 0;
    }
    const kind = this.#decoder.decodeFrame(bytes, 0, bytes.length);
    if (kind === FRAME_DEPTH) this.#sync.onDiff(frame, nowNs);
    else if (kind === FRAME_BOOK_TICKER) {
      this.#market.book.prove(nowNs);
      this.#market.touch.set(
        frame.touchBidTicks,
        frame.touchBidLots,
        frame.touchAskTicks,
        frame.touchAskLots,
        frame.lastId,
        frame.tsEventMs,
        nowNs,
      );
    }
    return -1;
  }
}

/** Recorded frames of it, whole and one by one. */
export const venuetwoDiffs = {
  venue: "venuetwo",
  symbol: DIFF_SYMBOL,
  play: playDiffs,
  openReader: (market: Market) => new DiffReader(market),
};
