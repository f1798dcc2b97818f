/** What the benchmarks know of venuethree. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { WebSocket } from "ws";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import { VenuethreeDecoder } from "../../feeds/venuethree/market/decode.js";
import { FRAME_SNAPSHOT, FRAME_UPDATE } from "../../feeds/venuethree/market/frame.js";
import { BookChain } from "../../feeds/venuethree/market/sync.js";
import { NoncePool, publicKeyOf } from "../../feeds/venuethree/sign/schnorr.js";
import { authMessage, signAuthToken, signTransaction } from "../../feeds/venuethree/sign/sign.js";
import { TX_CREATE_ORDER } from "../../feeds/venuethree/sign/tx.js";
import { frameOf, type Tape } from "../lib/format-tapes.js";
import type { RecordedFrame } from "../lib/recording.js";
import { TAKEN, type Trader } from "../lib/trader.js";
import { loadWasmSigner } from "../peers/wasm-signer.js";
import { LOCAL_VENUES } from "../sim/venues.js";
import {
  type DirectTarget,
  type Format,
  type Ingest,
  marketOf,
  SIGNED_AT_MS,
  type Signer,
  type Signing,
  type VenueBench,
} from "./venue-bench.js";

const RECORDING = "lighter_crv_frames_20260729.jsonl.gz";
const RECORDED_MARKET_ID = 36;
const QUINTIC_KEY = new Uint8Array(40).fill(3);
const SIGNED_CHAIN_ID = 300;
/** Goal of the design, µs. */
const QUINTIC_GOAL_US = 1_000;

export const venuethree: VenueBench = {
  close: {
    // One caller waits for the taker delay of each.
    offered: { 1: 1, 50: 20, 500: 40 },
    peerName: "same signed order over a socket, until the account stream tells the fill",
    startDirect: startStreamBot,
  },
  signings,
  formats({ dataFolder }, count): readonly Format[] {
    const common = { venue: "venuethree", ccxtClass: "lighter", open: openIngest } as const;
    const generated = { ...common, tape: generatedChain(count), ccxtMarketId: "1", priceDecimals: 1, qtyDecimals: 5 };
    if (dataFolder === null) return [generated];
    const recorded = {
      ...common,
      tape: recordedChain(dataFolder),
      ccxtMarketId: String(RECORDED_MARKET_ID),
      priceDecimals: 5,
      qtyDecimals: 1,
      open: (priceDecimals: number, qtyDecimals: number) => openIngest(priceDecimals, qtyDecimals, RECORDED_MARKET_ID),
    };
    return [recorded, generated];
  },
};

// ---------------------------------------------------------------- direct orders

/** Made for this file: it opens nothing but local venues. */
const BOT_KEY = "b0".repeat(40);
const BOT_KEY_INDEX = 77;
const CHAIN_ID = 304;
/** A little below any price of the local venues. */
const WORST_TICKS = 890_000;
const SIZE_LOTS = 100;
const MARKET_INDEX = 1;
/** Nonce pairs made ahead: no signature of a run has to make its own. */
const POOL_SIZE = 4_000;
const TOKEN_LIFE_S = 3_600;
const MAX_TEXT_CHARS = 120;

interface WireOrder {
  readonly client_order_index: number;
  readonly status: string;
}

/** What signs the bot's orders. */
interface BotSigner {
  readonly accountIndex: number;
  readonly privateKey: Uint8Array;
  readonly pool: NoncePool;
}

/** Orders sent and not yet ended, by client order index, which is their nonce. */
class PendingOrders {
  readonly #waiting = new Map<number, (outcome: string) => void>();

  add(index: number, resolve: (outcome: string) => void): void {
    this.#waiting.set(index, resolve);
  }

  /** Does nothing for an order that has ended. */
  end(index: number, outcome: string): void {
    this.#waiting.get(index)?.(outcome);
    this.#waiting.delete(index);
  }
}

/**
 * A hand-written bot. The venue answers an order before it executes it. So the bot signs orders and writes them to one
 * socket, several unanswered at once, and an order is done when the account's own stream, on another socket, reports its
 * end. The bot's key is beside the one that the gateway trades with, as two programs would have it: nonces are counted
 * per key.
 *
 * Bounded by its callers: each has one order under way.
 */
async function startStreamBot({ restUrl, wsUrl }: DirectTarget): Promise<Trader> {
  const { accountIndex, l1Address } = LOCAL_VENUES.venuethree.trader;
  const privateKey = Buffer.from(BOT_KEY, "hex");
  const pool = new NoncePool(POOL_SIZE);
  pool.fill(POOL_SIZE);
  const signer = { accountIndex, privateKey, pool };
  await registerKey(restUrl, l1Address, accountIndex, Buffer.from(publicKeyOf(privateKey)).toString("hex"));
  let nonce = await nextNonce(restUrl, accountIndex);
  const pending = new PendingOrders();
  const account = await followOrders(wsUrl, signer, pending);
  const orders = await openOrderSocket(wsUrl, pending);
  return {
    trade() {
      const index = nonce++;
      const text = signedOrder(signer, index);
      return new Promise((resolve) => {
        pending.add(index, resolve);
        orders.send(
          `{"type":"jsonapi/sendtx","data":{"id":"${index}","tx_type":${TX_CREATE_ORDER},"tx_info":${text}}}`,
        );
      });
    },
    async stop() {
      for (const socket of [account, orders]) socket.terminate();
    },
  };
}

/** Subscribes to the account's orders; each one that ends, ends in `pending`. Resolves once subscribed. */
async function followOrders(wsUrl: string, signer: BotSigner, pending: PendingOrders): Promise<WebSocket> {
  const { accountIndex, privateKey, pool } = signer;
  const deadlineS = Math.floor(Date.now() / 1_000) + TOKEN_LIFE_S;
  const auth = signAuthToken(authMessage(deadlineS, accountIndex, BOT_KEY_INDEX), privateKey, pool.take());
  const account = await connect(wsUrl);
  const subscribed = new Promise<void>((resolve) => {
    account.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString("utf8")) as {
        readonly type?: string;
        readonly orders?: Readonly<Record<string, readonly WireOrder[]>>;
      };
      if (frame.type === "subscribed/account_all_orders") resolve();
      if (frame.type !== "update/account_all_orders") return;
      for (const order of Object.values(frame.orders ?? {}).flat()) {
        if (order.status === "filled") pending.end(order.client_order_index, TAKEN);
        else if (order.status.startsWith("canceled")) pending.end(order.client_order_index, order.status);
      }
    });
  });
  account.send(JSON.stringify({ type: "subscribe", channel: `account_all_orders/${accountIndex}`, auth }));
  await subscribed;
  return account;
}

/** The socket that orders are written to. A refused order ends in `pending`; an accepted one ends by the stream alone. */
async function openOrderSocket(wsUrl: string, pending: PendingOrders): Promise<WebSocket> {
  const orders = await connect(wsUrl);
  orders.on("message", (data: Buffer) => {
    const reply = JSON.parse(data.toString("utf8")) as { readonly id?: string; readonly error?: unknown };
    if (reply.error !== undefined) pending.end(Number(reply.id), JSON.stringify(reply.error).slice(0, MAX_TEXT_CHARS));
  });
  return orders;
}

function signedOrder({ accountIndex, privateKey, pool }: BotSigner, nonce: number): string {
  const fields = {
    AccountIndex: accountIndex,
    ApiKeyIndex: BOT_KEY_INDEX,
    MarketIndex: MARKET_INDEX,
    ClientOrderIndex: nonce,
    BaseAmount: SIZE_LOTS,
    Price: WORST_TICKS,
    IsAsk: 1,
    Type: 1,
    TimeInForce: 0,
    ReduceOnly: 1,
    TriggerPrice: 0,
    OrderExpiry: 0,
    ExpiredAt: Date.now() + 60_000,
    Nonce: nonce,
  };
  return signTransaction(CHAIN_ID, TX_CREATE_ORDER, fields, null, privateKey, pool.take()).text;
}

async function registerKey(restUrl: string, l1Address: string, accountIndex: number, publicKey: string): Promise<void> {
  const apiKeys = [{ apiKeyIndex: BOT_KEY_INDEX, publicKey }];
  const response = await fetch(`${restUrl}/_sim/accounts`, {
    method: "POST",
    body: JSON.stringify({ accountId: String(accountIndex), l1Address, apiKeys }),
  });
  if (!response.ok) throw new Error(`the bot has no key: ${(await response.text()).slice(0, MAX_TEXT_CHARS)}`);
}

async function nextNonce(restUrl: string, accountIndex: number): Promise<number> {
  const query = `account_index=${accountIndex}&api_key_index=${BOT_KEY_INDEX}`;
  const response = await fetch(`${restUrl}/api/v1/nextNonce?${query}`);
  return ((await response.json()) as { readonly nonce: number }).nonce;
}

async function connect(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await once(socket, "open");
  return socket;
}

// ---------------------------------------------------------------- signing

async function signings(): Promise<readonly Signing[]> {
  const wasm = await loadWasmSigner({
    privateKeyHex: `0x${Buffer.from(QUINTIC_KEY).toString("hex")}`,
    accountIndex: 7,
    apiKeyIndex: 4,
    chainId: SIGNED_CHAIN_ID,
  });
  const fieldsOf = (nonce: number) => ({
    AccountIndex: 7,
    ApiKeyIndex: 4,
    MarketIndex: 1,
    ClientOrderIndex: 281_474_976_710_000,
    BaseAmount: 25_000,
    Price: 974_030,
    IsAsk: 1,
    Type: 1,
    TimeInForce: 0,
    ReduceOnly: 1,
    TriggerPrice: 0,
    OrderExpiry: 0,
    ExpiredAt: SIGNED_AT_MS + 60_000,
    Nonce: nonce,
  });
  const peer: Signer = (index) =>
    wasm(
      { marketIndex: 1, clientOrderIndex: 281_474_976_710_000, baseAmount: 25_000, price: 974_030, isAsk: true },
      index + 1,
    );
  let pool = new NoncePool(1);
  const common = { peerName: "the venue's WebAssembly signer", peer, goalUs: QUINTIC_GOAL_US, peerShare: 0.1 };
  return [
    {
      ...common,
      what: "venuethree: order hashed and signed, pairs made ahead",
      prepare(count) {
        pool = new NoncePool(count);
        pool.fill(count);
      },
      ours: (index) =>
        signTransaction(SIGNED_CHAIN_ID, TX_CREATE_ORDER, fieldsOf(index + 1), null, QUINTIC_KEY, pool.take()),
      detail: "what the room does",
    },
    {
      ...common,
      what: "venuethree: the same with the pool empty",
      ours: (index) => signTransaction(SIGNED_CHAIN_ID, TX_CREATE_ORDER, fieldsOf(index + 1), null, QUINTIC_KEY),
      detail: "a burst beyond the pool",
    },
  ];
}

// ---------------------------------------------------------------- frames

function openIngest(priceDecimals: number, qtyDecimals: number, marketId = 1): Ingest {
  const decoder = new VenuethreeDecoder();
  decoder.register(marketId, priceDecimals, qtyDecimals);
  const market = marketOf("venuethree", priceDecimals, qtyDecimals);
  const chain = new BookChain(market.book);
  const { frame } = decoder;
  return {
    book: market.book,
    restart: () => chain.beginSync(),
    take({ bytes }) {
      const kind = decoder.decodeFrame(bytes, 0, bytes.length);
      if (kind === FRAME_UPDATE) chain.onUpdate(frame, 0);
      else if (kind === FRAME_SNAPSHOT) chain.onSnapshot(frame, 0);
      else throw new Error("the decoder declined a frame");
    },
  };
}

/** A book and the six updates that follow it. */
function recordedChain(dataFolder: string): Tape {
  const text = gunzipSync(readFileSync(join(dataFolder, RECORDING))).toString("utf8");
  const frames = text
    .split("\n")
    .filter((line) => line.includes('"order_book":{'))
    .map((line) => frameOf(line.includes('"subscribed/order_book"') ? "snapshot" : "depth", line));
  return { what: "recorded book and its updates", frames };
}

const CHAIN_LEVELS = 750;
/** Ticks of the generated market 1: one decimal of price, five of size. */
const CHAIN_MID_TICKS = 637_770;

/** A book of a busy market and the updates that follow it, one batch each 50 ms. */
function generatedChain(count: number): Tape {
  const random = createSeededRandom(13);
  let nonce = 18_032_383_898;
  const whole = (sign: 1 | -1) =>
    Array.from({ length: CHAIN_LEVELS }, (_, index) => chainLevel(random, sign, index + 1));
  const frames = [chainFrame("subscribed", whole(1), whole(-1), nonce, nonce, 0)];
  for (let index = 1; index < count; index++) {
    const beginNonce = nonce;
    nonce += 1 + Math.floor(random.next() * 100);
    const changes = (sign: 1 | -1) =>
      Array.from({ length: Math.floor(random.next() * 8) }, () =>
        chainLevel(random, sign, 1 + Math.floor(random.next() ** 3 * CHAIN_LEVELS), 0.3),
      );
    frames.push(chainFrame("update", changes(1), changes(-1), nonce, beginNonce, index));
  }
  return { what: `generated updates of a book of ${CHAIN_LEVELS} levels a side`, frames };
}

function chainLevel(random: Random, sign: 1 | -1, distance: number, removedShare = 0) {
  const size = random.next() < removedShare ? 0 : 0.00001 + random.next() * 5;
  return { price: ((CHAIN_MID_TICKS + sign * distance) / 10).toFixed(1), size: size.toFixed(5) };
}

function chainFrame(
  type: "subscribed" | "update",
  asks: readonly object[],
  bids: readonly object[],
  nonce: number,
  beginNonce: number,
  index: number,
): RecordedFrame {
  const offset = 415_803 + index;
  const updatedUs = 1_785_358_811_946_459 + 50_000 * index;
  return frameOf(
    type === "subscribed" ? "snapshot" : "depth",
    JSON.stringify({
      channel: "order_book:1",
      last_updated_at: updatedUs,
      offset,
      order_book: { code: 0, asks, bids, offset, nonce, last_updated_at: updatedUs, begin_nonce: beginNonce },
      timestamp: 1_785_358_811_950 + 50 * index,
      type: `${type}/order_book`,
    }),
  );
}
