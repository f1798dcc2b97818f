/** A venueone with a virtual clock and a still book, and a client that signs for it. Shared by this room's tests. */
import { secp256k1 } from "@noble/curves/secp256k1";
import { privateKeyToAddress } from "viem/accounts";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { PackMap } from "../wire/msgpack.js";
import type { VenueoneAccountOptions, VenueoneSimOptions } from "../records/options.js";
import { agentDigest, type Hex, hashAction, userDigest } from "../wire/signature.js";
import { startVenueoneSim, type VenueoneSim } from "../sim.js";
import type { TypedField } from "../wire/user-actions.js";

export const KEYS = {
  alice: `0x${"a1".repeat(32)}`,
  bob: `0x${"b2".repeat(32)}`,
  agent: `0x${"c3".repeat(32)}`,
  stranger: `0x${"d4".repeat(32)}`,
} as const satisfies Record<string, Hex>;

export function addressOf(key: Hex): string {
  return privateKeyToAddress(key).toLowerCase();
}

export const ALICE = addressOf(KEYS.alice);
export const BOB = addressOf(KEYS.bob);
export const AGENT = addressOf(KEYS.agent);

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** The parsed body, or undefined when it is not JSON. */
  readonly json: unknown;
}

export interface Bench {
  readonly sim: VenueoneSim;
  readonly clock: VirtualClock;
  post(path: string, body: string, contentType?: string): Promise<Reply>;
  info(body: unknown): Promise<unknown>;
  /** Signs and posts an L1 action; a fresh nonce unless given. */
  act(key: Hex, action: PackMap, extra?: ActExtra): Promise<unknown>;
  /** Signs and posts a user-signed action. */
  actAsUser(
    key: Hex,
    action: Readonly<Record<string, unknown>>,
    fields: readonly TypedField[],
    extra?: { readonly nonce?: number },
  ): Promise<unknown>;
  nextNonce(): number;
  stop(): Promise<void>;
}

export interface ActExtra {
  readonly nonce?: number;
  readonly vaultAddress?: string | null;
  readonly expiresAfter?: number | null;
  readonly isMainnet?: boolean;
  /** What to post instead of what was signed. */
  readonly posted?: unknown;
}

export const DEFAULT_ACCOUNTS: readonly VenueoneAccountOptions[] = [
  { address: ALICE, deposit: "100000", spotDeposit: "500", agents: [{ address: AGENT, name: "bot" }] },
  { address: BOB, deposit: "100000" },
];

export async function startBench(options: Partial<VenueoneSimOptions> = {}): Promise<Bench> {
  const clock = new VirtualClock();
  const sim = await startVenueoneSim({
    seed: 7,
    clock,
    symbols: ["BTC"],
    accounts: DEFAULT_ACCOUNTS,
    limits: { ipWeightPerMinute: 1_000_000 },
    ...options,
  });
  let lastNonce = 0;

  async function post(path: string, body: string, contentType = "application/json"): Promise<Reply> {
    const response = await fetch(`${sim.restUrl}${path}`, {
      method: "POST",
      body: Buffer.from(body),
      headers: { "content-type": contentType },
    });
    const text = await response.text();
    return {
      status: response.status,
      contentType: response.headers.get("content-type") ?? "",
      text,
      json: parsed(text),
    };
  }

  function nextNonce(): number {
    lastNonce = Math.max(clock.wallMs(), lastNonce + 1);
    return lastNonce;
  }

  return {
    sim,
    clock,
    post,
    nextNonce,
    async info(body) {
      return (await post("/info", JSON.stringify(body))).json;
    },
    async act(key, action, extra = {}) {
      const nonce = extra.nonce ?? nextNonce();
      const vaultAddress = extra.vaultAddress ?? null;
      const expiresAfter = extra.expiresAfter ?? null;
      const digest = agentDigest(hashAction(action, nonce, vaultAddress, expiresAfter), extra.isMainnet ?? true);
      const body = { action: extra.posted ?? action, nonce, signature: sign(key, digest), vaultAddress, expiresAfter };
      return (await post("/exchange", JSON.stringify(body))).json;
    },
    async actAsUser(key, action, fields, extra = {}) {
      const nonce = extra.nonce ?? nextNonce();
      const nonceKey = fields.at(-1)?.name === "time" ? "time" : "nonce";
      const full: Readonly<Record<string, unknown>> = {
        ...action,
        signatureChainId: "0xa4b1",
        hyperliquidChain: "Mainnet",
        [nonceKey]: nonce,
      };
      const message = Object.fromEntries(
        [...fields.map((field) => field.name), "hyperliquidChain"].map((name): [string, string | boolean | bigint] => {
          const value = full[name];
          return [
            name,
            typeof value === "number" ? BigInt(value) : typeof value === "boolean" ? value : String(value ?? ""),
          ];
        }),
      );
      const type = String(action.type);
      const primary = PRIMARY_TYPES[type] ?? `${type.charAt(0).toUpperCase()}${type.slice(1)}`;
      const digest = userDigest(`HyperliquidTransaction:${primary}`, fields, message, 42_161);
      return (await post("/exchange", JSON.stringify({ action: full, nonce, signature: sign(key, digest) }))).json;
    },
    stop: () => sim.stop(),
  };
}

const PRIMARY_TYPES: Readonly<Record<string, string>> = { withdraw3: "Withdraw" };

export function sign(key: Hex, digest: Hex): { readonly r: string; readonly s: string; readonly v: number } {
  const signature = secp256k1.sign(digest.slice(2), key.slice(2));
  return { r: `0x${signature.r.toString(16)}`, s: `0x${signature.s.toString(16)}`, v: 27 + signature.recovery };
}

export interface OrderFields {
  readonly a?: number;
  readonly b?: boolean;
  readonly p: string;
  readonly s: string;
  readonly r?: boolean;
  readonly tif?: string;
  readonly trigger?: { readonly isMarket: boolean; readonly triggerPx: string; readonly tpsl: string };
  readonly c?: string;
}

/** An order item in the venue's key order. */
export function orderItem({ a = 0, b = true, p, s, r = false, tif = "Gtc", trigger, c }: OrderFields): PackMap {
  const t: PackMap =
    trigger === undefined
      ? { limit: { tif } }
      : { trigger: { isMarket: trigger.isMarket, triggerPx: trigger.triggerPx, tpsl: trigger.tpsl } };
  return { a, b, p, s, r, t, ...(c === undefined ? {} : { c }) };
}

export function orderAction(orders: readonly OrderFields[], grouping = "na"): PackMap {
  return { type: "order", orders: orders.map(orderItem), grouping };
}

export const FIELDS = {
  usdSend: fields("destination:string", "amount:string", "time:uint64"),
  withdraw3: fields("destination:string", "amount:string", "time:uint64"),
  usdClassTransfer: fields("amount:string", "toPerp:bool", "nonce:uint64"),
  approveAgent: fields("agentAddress:address", "agentName:string", "nonce:uint64"),
  approveBuilderFee: fields("maxFeeRate:string", "builder:address", "nonce:uint64"),
} as const;

function fields(...specs: readonly string[]): readonly TypedField[] {
  return specs.map((spec) => {
    const [name = "", type = "string"] = spec.split(":");
    return { name, type: type as TypedField["type"] };
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The statuses of an order or cancel reply. */
export function statuses(reply: unknown): readonly unknown[] {
  const response = (reply as { readonly response?: { readonly data?: { readonly statuses?: readonly unknown[] } } })
    .response;
  return response?.data?.statuses ?? [];
}

export function oidOf(status: unknown): number {
  const item = status as { readonly resting?: { readonly oid: number }; readonly filled?: { readonly oid: number } };
  const oid = item.resting?.oid ?? item.filled?.oid;
  if (oid === undefined) throw new Error(`no order id in ${JSON.stringify(status)}`);
  return oid;
}

/** Best prices of BTC as wire texts, moved by whole dollars. */
export function btc(bench: Bench): { readonly bid: number; readonly ask: number; readonly mid: number } {
  const bid = (bench.sim.exchange.market.bestBid("BTC")?.priceTicks ?? 0) / 10;
  const ask = (bench.sim.exchange.market.bestAsk("BTC")?.priceTicks ?? 0) / 10;
  return { bid, ask, mid: (bid + ask) / 2 };
}
