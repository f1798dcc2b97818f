/**
 * One small reduce-only market order for each venue, signed and written as a bot without us would send it: the peer of
 * the close bench. The signers are the project's own, so that the difference measured is the service and nothing else.
 */
import { createHmac } from "node:crypto";
import { decodeBase58 } from "../../feeds/venuefour/base58.js";
import { signedBody, SigningKey } from "../../feeds/venuefour/sign.js";
import { L1Signer, limitOrderAction } from "../../feeds/venueone/sign.js";
import { NoncePool } from "../../feeds/venuethree/crypto/schnorr.js";
import { TX_CREATE_ORDER } from "../../feeds/venuethree/crypto/tx.js";
import { signTransaction } from "../../feeds/venuethree/sign.js";
import { encodeForm } from "../../feeds/venuetwo/sign.js";
import { DEMO_TRADER } from "../sim/demo-accounts.js";

export interface DirectRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface DirectOrders {
  next(): DirectRequest;
  /** Did the venue take it? */
  isTaken(text: string): boolean;
  /** The venue wants the requests of a key one after the other. */
  readonly serial: boolean;
}

/** A little below any price that the local venues show. */
const WORST_PRICE = "89000";
/** venuetwo takes nothing 2 % from its mark, which wanders. */
const WORST_SHARE = 0.99;
const WORST_TICKS = 890_000;
const SIZE = "0.001";
const SIZE_LOTS = 100;
const CHAIN_ID = 304;
const POOL_SIZE = 4_000;
const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

export async function directOrders(venue: string, target: string): Promise<DirectOrders> {
  switch (venue) {
    case "venueone":
      return venueone();
    case "venuetwo":
      return venuetwo(target);
    case "venuethree":
      return venuethree(target);
    case "venuefour":
      return venuefour();
    default:
      throw new RangeError(`no venue ${venue}`);
  }
}

function venueone(): DirectOrders {
  const signer = new L1Signer(true);
  const privateKey = Buffer.from(DEMO_TRADER.venueone.agentPrivateKey.slice(2), "hex");
  let lastNonce = 0;
  return {
    serial: false,
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
      const signature = signer.signConnectionId(signer.hashLimitOrder(order, nonce, null, null), privateKey);
      const body = JSON.stringify({ action: limitOrderAction(order), nonce, signature });
      return { path: "/exchange", headers: JSON_TYPE, body };
    },
    isTaken: (text) => text.includes('"filled"'),
  };
}

async function venuetwo(target: string): Promise<DirectOrders> {
  const { apiKey, apiSecret } = DEMO_TRADER.venuetwo;
  const asked = await fetch(`${target}/fapi/v1/premiumIndex?symbol=BTCUSDT`);
  const { markPrice } = (await asked.json()) as { readonly markPrice: string };
  // A price of the peer's load, in whole units: nothing that trades is reckoned so.
  const worstPrice = String(Math.floor(Number(markPrice) * WORST_SHARE));
  let count = 0;
  return {
    serial: false,
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

async function venuethree(target: string): Promise<DirectOrders> {
  const { apiKeyPrivateKey, accountIndex, apiKeyIndex } = DEMO_TRADER.venuethree;
  const privateKey = Buffer.from(apiKeyPrivateKey, "hex");
  const asked = await fetch(`${target}/api/v1/nextNonce?account_index=${accountIndex}&api_key_index=${apiKeyIndex}`);
  let nonce = ((await asked.json()) as { readonly nonce: number }).nonce;
  const pool = new NoncePool(POOL_SIZE);
  pool.fill(POOL_SIZE);
  return {
    serial: true,
    next() {
      const fields = {
        AccountIndex: accountIndex,
        ApiKeyIndex: apiKeyIndex,
        MarketIndex: 1,
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
        Nonce: nonce++,
      };
      const { text } = signTransaction(CHAIN_ID, TX_CREATE_ORDER, fields, null, privateKey, pool.take());
      const body = `tx_type=${TX_CREATE_ORDER}&tx_info=${encodeURIComponent(text)}`;
      return { path: "/api/v1/sendTx", headers: FORM_TYPE, body };
    },
    isTaken: (text) => text.includes('"code":200'),
  };
}

function venuefour(): DirectOrders {
  const { apiSecret, walletAddress } = DEMO_TRADER.venuefour;
  const secret = decodeBase58(apiSecret);
  if (secret === null) throw new Error("the demo key is not base58");
  const key = new SigningKey(secret.subarray(0, 32));
  return {
    serial: false,
    next() {
      const body = signedBody(
        {
          type: "create_market_order",
          timestamp: Date.now(),
          expiryWindow: 5_000,
          payload: { symbol: "BTC", reduce_only: true, amount: SIZE, side: "ask", slippage_percent: "5" },
        },
        walletAddress,
        key,
      );
      return { path: "/api/v1/orders/create_market", headers: JSON_TYPE, body: JSON.stringify(body) };
    },
    isTaken: (text) => text.includes('"order_id"'),
  };
}
