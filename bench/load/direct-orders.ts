/**
 * One small reduce-only market order at a time, signed and written as a bot without us would send it, and answered when
 * its fill is known: the peer of the close bench. The signers are the project's own, so that the difference measured is
 * the service and nothing else. Three venues answer with the fill; the fourth has a bot of its own (stream-bot.ts).
 */
import { createHmac } from "node:crypto";
import { Pool } from "undici";
import { decodeBase58 } from "../../feeds/venuefour/sign/base58.js";
import { signedBody, SigningKey } from "../../feeds/venuefour/sign/sign.js";
import { L1Signer, limitOrderAction } from "../../feeds/venueone/sign/sign.js";
import { encodeForm } from "../../feeds/venuetwo/sign/sign.js";
import { DEMO_TRADER } from "../sim/demo-accounts.js";
import { startStreamBot } from "./stream-bot.js";
import { TAKEN, type Trader } from "./trader.js";

interface DirectRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface DirectOrders {
  next(): DirectRequest;
  /** Did the venue fill it? */
  isTaken(text: string): boolean;
}

/** A little below any price that the local venues show. */
const WORST_PRICE = "89000";
/** venuetwo takes nothing 2 % from its mark, which wanders. */
const WORST_SHARE = 0.99;
const SIZE = "0.001";
const MAX_TEXT_CHARS = 120;
const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

export async function startDirectTrader(
  venue: string,
  target: string,
  wsUrl: string,
  callerCount: number,
): Promise<Trader> {
  if (venue === "venuethree") return startStreamBot(target, wsUrl);
  const orders = await directOrders(venue, target);
  const pool = new Pool(target, { connections: callerCount, pipelining: 1 });
  return {
    async trade() {
      const response = await pool.request({ method: "POST", ...orders.next() });
      const text = await response.body.text();
      return orders.isTaken(text) ? TAKEN : text.slice(0, MAX_TEXT_CHARS);
    },
    stop: () => pool.close(),
  };
}

async function directOrders(venue: string, target: string): Promise<DirectOrders> {
  switch (venue) {
    case "venueone":
      return venueone();
    case "venuetwo":
      return venuetwo(target);
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

function venuefour(): DirectOrders {
  const { apiSecret, walletAddress } = DEMO_TRADER.venuefour;
  const secret = decodeBase58(apiSecret);
  if (secret === null) throw new Error("the demo key is not base58");
  const key = new SigningKey(secret.subarray(0, 32));
  return {
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
