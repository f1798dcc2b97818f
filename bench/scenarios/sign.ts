/**
 * Signing one order, each venue's signer against what else can make the same signature here. Ours includes the encoding
 * of the request up to what is signed; where the peer is handed that ready-made, the row says so.
 */
import { createHmac, createPrivateKey, sign as signBytes } from "node:crypto";
import { privateKeyToAccount } from "viem/accounts";
import { L1Signer } from "../../feeds/venueone/sign/sign.js";
import { NoncePool } from "../../feeds/venuethree/sign/schnorr.js";
import { TX_CREATE_ORDER } from "../../feeds/venuethree/sign/tx.js";
import { signTransaction } from "../../feeds/venuethree/sign/sign.js";
import { canonicalJson, type Operation, signedBody, SigningKey } from "../../feeds/venuefour/sign/sign.js";
import { encodeForm, MESSAGE_CHAIN_ID, MessageSigner, signHmac } from "../../feeds/venuetwo/sign/sign.js";
import { profileTop } from "../lib/profile.js";
import { latencyText, median, percentile } from "../lib/stats.js";
import { type BenchRow, type Scenario, verdict } from "../lib/types.js";
import { loadWasmSigner } from "../peers/wasm-signer.js";

/** Opens nothing anywhere. */
const KEY = new Uint8Array(32).fill(7);
const KEY_HEX = `0x${Buffer.from(KEY).toString("hex")}` as const;
const QUINTIC_KEY = new Uint8Array(40).fill(3);
const CHAIN_ID = 300;
const BASE_MS = 1_790_000_000_000;
/** DER head of a bare Ed25519 key (RFC 8410). */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
/** The goal for venuethree. */
const QUINTIC_GOAL_US = 1_000;

type Signer = (index: number) => unknown;

interface Pairing {
  readonly what: string;
  readonly ours: Signer;
  readonly peerName: string;
  readonly peer: Signer;
  /** Called before each measured run of ours: what is made ahead of time. */
  readonly prepare?: (count: number) => void;
  /** Highest median, µs; null: reported only. */
  readonly goalUs: number | null;
  readonly detail: string;
  /** The peer is slow: fewer of them give the same median. */
  readonly peerShare?: number;
}

export const sign: Scenario = {
  name: "sign",
  title: "Signing one order",
  async run(context) {
    const count = context.smoke ? 40 : 2_000;
    const runCount = context.smoke ? 1 : 5;
    const rows: BenchRow[] = [];
    const profile: string[] = [];
    for (const pairing of await pairings()) {
      const row = await compare(pairing, count, runCount);
      rows.push(row);
      if (verdict(row) !== "missed" || context.smoke) continue;
      pairing.prepare?.(count);
      profile.push(
        ...(await profileTop(async () => void (await timed(pairing.ours, count)))).map(
          (line) => `${pairing.what}: ${line}`,
        ),
      );
    }
    return { rows, profile };
  },
};

async function compare(pairing: Pairing, count: number, runCount: number): Promise<BenchRow> {
  const { ours, peer, prepare, goalUs, peerShare = 1 } = pairing;
  const peerCount = Math.max(10, Math.round(count * peerShare));
  const ourMedians: number[] = [];
  const peerMedians: number[] = [];
  let last: number[] = [];
  for (let run = -1; run < runCount; run++) {
    prepare?.(count);
    const samples = await timed(ours, count);
    const peerSamples = await timed(peer, peerCount);
    if (run < 0) continue;
    last = samples;
    ourMedians.push(percentile(samples, 50));
    peerMedians.push(percentile(peerSamples, 50));
  }
  const oursUs = median(ourMedians);
  const peerUs = median(peerMedians);
  const detail = `peer ÷ ours ${(peerUs / oursUs).toFixed(1)}; ${count} signatures, µs ${latencyText(last)}; ${pairing.detail}`;
  const common = { what: pairing.what, unit: "µs", ours: oursUs, peerName: pairing.peerName, peer: peerUs, runCount };
  return goalUs === null
    ? { ...common, ratio: oursUs / peerUs, goal: null, detail }
    : { ...common, ratio: oursUs, goal: { kind: "atMost", value: goalUs }, detail };
}

/** µs of each signature. */
async function timed(signer: Signer, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let index = 0; index < count; index++) {
    const startMs = performance.now();
    const made = signer(index);
    if (made instanceof Promise) await made;
    samples.push((performance.now() - startMs) * 1_000);
  }
  return samples;
}

async function pairings(): Promise<readonly Pairing[]> {
  return [venueone(), venuetwoKey(), venuetwoAgent(), ...(await venuethree()), venuefour()];
}

function venueone(): Pairing {
  const signer = new L1Signer(true);
  const account = privateKeyToAccount(KEY_HEX);
  const order = {
    asset: 0,
    isBuy: false,
    price: "97403",
    size: "0.25",
    reduceOnly: true,
    tif: "Ioc" as const,
    cloid: "0x0123456789abcdef0123456789abcdef",
  };
  const connectionId = `0x${Buffer.from(signer.hashLimitOrder(order, BASE_MS, null, BASE_MS + 5_000)).toString("hex")}`;
  return {
    what: "venueone: order packed, hashed, signed",
    ours: (index) => signer.signConnectionId(signer.hashLimitOrder(order, BASE_MS + index, null, BASE_MS + 5_000), KEY),
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

function venuetwoKey(): Pairing {
  const secret = Buffer.from("a".repeat(64));
  const ready = encodeForm([...ORDER_FORM, ["timestamp", String(BASE_MS)]]);
  return {
    what: "venuetwo, API key: form encoded and signed",
    ours: (index) => signHmac(secret, "", encodeForm([...ORDER_FORM, ["timestamp", String(BASE_MS + index)]])),
    peerName: "node:crypto HMAC alone",
    peer: () => createHmac("sha256", secret).update(ready).digest("hex"),
    goalUs: null,
    detail: "the peer is handed the encoded form",
  };
}

function venuetwoAgent(): Pairing {
  const signer = new MessageSigner(MESSAGE_CHAIN_ID.mainnet);
  const account = privateKeyToAccount(KEY_HEX);
  const ready = encodeForm([...ORDER_FORM, ["nonce", String(BASE_MS * 1_000)]]);
  return {
    what: "venuetwo, agent: form encoded, hashed, signed",
    ours: (index) => signer.sign(encodeForm([...ORDER_FORM, ["nonce", String(BASE_MS * 1_000 + index)]]), KEY),
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

async function venuethree(): Promise<readonly Pairing[]> {
  const wasm = await loadWasmSigner({
    privateKeyHex: `0x${Buffer.from(QUINTIC_KEY).toString("hex")}`,
    accountIndex: 7,
    apiKeyIndex: 4,
    chainId: CHAIN_ID,
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
    ExpiredAt: BASE_MS + 60_000,
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
      ours: (index) => signTransaction(CHAIN_ID, TX_CREATE_ORDER, fieldsOf(index + 1), null, QUINTIC_KEY, pool.take()),
      detail: "what the room does",
    },
    {
      ...common,
      what: "venuethree: the same with the pool empty",
      ours: (index) => signTransaction(CHAIN_ID, TX_CREATE_ORDER, fieldsOf(index + 1), null, QUINTIC_KEY),
      detail: "a burst beyond the pool",
    },
  ];
}

function venuefour(): Pairing {
  const key = new SigningKey(KEY);
  const plain = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, KEY]), format: "der", type: "pkcs8" });
  const operationOf = (index: number): Operation => ({
    type: "create_market_order",
    timestamp: BASE_MS + index,
    expiryWindow: 5_000,
    payload: {
      symbol: "BTC",
      reduce_only: true,
      amount: "0.25",
      side: "ask",
      slippage_percent: "1",
      client_order_id: "01234567-89ab-4def-8123-456789abcdef",
    },
  });
  const { payload, expiryWindow, timestamp, type } = operationOf(0);
  const ready = Buffer.from(canonicalJson({ type, timestamp, expiry_window: expiryWindow, data: payload }));
  return {
    what: "venuefour: order written in canonical form and signed",
    ours: (index) => signedBody(operationOf(index), key.publicKey, key),
    peerName: "node:crypto Ed25519 alone",
    peer: () => signBytes(null, ready, plain),
    goalUs: null,
    detail: "the peer is handed the canonical text",
  };
}
