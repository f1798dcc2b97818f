/**
 * Load of closes in a process of its own: `close-load.child.js <mode> <callers> <count> <perSecond>`.
 *
 *   gateway  POST /api/trade/position/close to TARGET_URL
 *   direct   the same signed reduce-only order straight to the venue at VENUE_URL, over keep-alive connections
 *
 * Arrivals are on a schedule of `perSecond` over all callers, and a latency counts from the scheduled moment, so that
 * waiting for a busy caller is counted too. 0 runs closed loops instead, for throughput. Prints one JSON line: latencies in ms, outcome counts.
 */
import { Pool } from "undici";
import { L1Signer, limitOrderAction } from "../../feeds/venueone/sign.js";
import { credentialsOf, DEMO_TRADER } from "../sim/demo-accounts.js";

const [mode = "gateway", callersText = "1", countText = "100", rateText = "0"] = process.argv.slice(2);
const callerCount = Number(callersText);
const requestCount = Number(countText);
const perSecond = Number(rateText);
const target = new URL(process.env.TARGET_URL ?? "");
const SIZE = "0.001";
const WORST_PRICE = process.env.WORST_PRICE ?? "80000";

const pool = new Pool(target.origin, { connections: callerCount, pipelining: 1 });
const latenciesMs: number[] = [];
const outcomes: Record<string, number> = {};
let startedCount = 0;

const signer = new L1Signer(true);
const privateKey = Buffer.from(DEMO_TRADER.venueone.agentPrivateKey.slice(2), "hex");
let lastNonce = 0;

function gatewayBody(): string {
  return JSON.stringify({
    symbol: "BTC",
    direction: "LONG",
    size: SIZE,
    preferredExchange: "venueone",
    credentials: { venueone: credentialsOf(DEMO_TRADER).venueone },
  });
}

function directBody(): string {
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
  return JSON.stringify({ action: limitOrderAction(order), nonce, signature });
}

const path = mode === "gateway" ? "/api/trade/position/close" : "/exchange";
const makeBody = mode === "gateway" ? gatewayBody : directBody;

const beginMs = performance.now();

async function caller(): Promise<void> {
  while (startedCount < requestCount) {
    const turn = startedCount++;
    let startMs = performance.now();
    if (perSecond > 0) {
      const dueMs = beginMs + (turn * 1000) / perSecond;
      if (dueMs > startMs) await new Promise((resolve) => setTimeout(resolve, dueMs - startMs));
      // A timer fires up to a millisecond late: that is the load's own fault, a caller that was busy is not.
      startMs = dueMs > startMs ? performance.now() : dueMs;
    }
    const response = await pool.request({
      method: "POST",
      path,
      headers: { "content-type": "application/json" },
      body: makeBody(),
    });
    const text = await response.body.text();
    latenciesMs.push(performance.now() - startMs);
    const outcome = outcomeOf(text);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
}

function outcomeOf(text: string): string {
  if (mode === "direct") return text.includes('"filled"') ? "filled" : text.slice(0, 120);
  const reply = JSON.parse(text) as { code?: string; data?: { execution?: { state?: string } } };
  return reply.data?.execution?.state ?? reply.code ?? "?";
}

await Promise.all(Array.from({ length: callerCount }, () => caller()));
await pool.close();
const elapsedMs = performance.now() - beginMs;
process.stdout.write(`${JSON.stringify({ latenciesMs, outcomes, perSecond: (requestCount * 1000) / elapsedMs })}\n`);
