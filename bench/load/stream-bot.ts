/**
 * A hand-written bot for venuethree, which answers an order before it is executed: orders are signed and written to one
 * socket, several unanswered at once, and each is done when the account's own stream, on another socket, tells its end.
 * Its key is beside the one that the gateway trades with, as two programs would have it: nonces are counted per key.
 *
 * Bounded by its callers: each has one order under way.
 */
import { once } from "node:events";
import { WebSocket } from "ws";
import { NoncePool, publicKeyOf } from "../../feeds/venuethree/sign/schnorr.js";
import { TX_CREATE_ORDER } from "../../feeds/venuethree/sign/tx.js";
import { authMessage, signAuthToken, signTransaction } from "../../feeds/venuethree/sign/sign.js";
import { DEMO_TRADER } from "../sim/demo-accounts.js";
import { TAKEN, type Trader } from "./trader.js";

/** Made for this file: it opens nothing but local venues. */
const BOT_KEY = "b0".repeat(40);
const BOT_KEY_INDEX = 77;
const CHAIN_ID = 304;
/** A little below any price that the local venues show. */
const WORST_TICKS = 890_000;
const SIZE_LOTS = 100;
const MARKET_INDEX = 1;
/** Pairs made beforehand: no signature of a run has to make its own. */
const POOL_SIZE = 4_000;
const TOKEN_LIFE_S = 3_600;
const MAX_TEXT_CHARS = 120;

interface WireOrder {
  readonly client_order_index: number;
  readonly status: string;
}

export async function startStreamBot(restUrl: string, wsUrl: string): Promise<Trader> {
  const { accountIndex, l1Address } = DEMO_TRADER.venuethree;
  const privateKey = Buffer.from(BOT_KEY, "hex");
  const pool = new NoncePool(POOL_SIZE);
  pool.fill(POOL_SIZE);
  await registerKey(restUrl, l1Address, accountIndex, Buffer.from(publicKeyOf(privateKey)).toString("hex"));
  let nonce = await nextNonce(restUrl, accountIndex);
  /** By client order index, which is the nonce. */
  const waiting = new Map<number, (outcome: string) => void>();
  const end = (index: number, outcome: string): void => {
    waiting.get(index)?.(outcome);
    waiting.delete(index);
  };

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
        if (order.status === "filled") end(order.client_order_index, TAKEN);
        else if (order.status.startsWith("canceled")) end(order.client_order_index, order.status);
      }
    });
  });
  account.send(JSON.stringify({ type: "subscribe", channel: `account_all_orders/${accountIndex}`, auth }));
  await subscribed;

  const orders = await connect(wsUrl);
  orders.on("message", (data: Buffer) => {
    const reply = JSON.parse(data.toString("utf8")) as { readonly id?: string; readonly error?: unknown };
    // A yes says only that it will be executed: the stream tells the rest.
    if (reply.error !== undefined) end(Number(reply.id), JSON.stringify(reply.error).slice(0, MAX_TEXT_CHARS));
  });

  return {
    trade() {
      const index = nonce++;
      const fields = {
        AccountIndex: accountIndex,
        ApiKeyIndex: BOT_KEY_INDEX,
        MarketIndex: MARKET_INDEX,
        ClientOrderIndex: index,
        BaseAmount: SIZE_LOTS,
        Price: WORST_TICKS,
        IsAsk: 1,
        Type: 1,
        TimeInForce: 0,
        ReduceOnly: 1,
        TriggerPrice: 0,
        OrderExpiry: 0,
        ExpiredAt: Date.now() + 60_000,
        Nonce: index,
      };
      const { text } = signTransaction(CHAIN_ID, TX_CREATE_ORDER, fields, null, privateKey, pool.take());
      return new Promise((resolve) => {
        waiting.set(index, resolve);
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
