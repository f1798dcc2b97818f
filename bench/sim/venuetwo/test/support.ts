/** A running local venue with one funded account, and plain signed calls to it (independent of the product's signer). */
import { createHmac } from "node:crypto";
import { privateKeyToAccount } from "viem/accounts";
import { WebSocket } from "ws";
import type { VenuetwoSimOptions } from "../records/options.js";
import { startVenuetwoSim, type VenuetwoSim } from "../sim.js";

/** Keys of local test accounts; they sign for nothing outside this process. */
export const MAIN_WALLET_KEY = `0x${"11".repeat(32)}` as const;
export const AGENT_KEY = `0x${"22".repeat(32)}` as const;
export const mainWallet = privateKeyToAccount(MAIN_WALLET_KEY);
export const agentWallet = privateKeyToAccount(AGENT_KEY);
export const API_KEY = "k".repeat(64);
export const API_SECRET = "s".repeat(64);
export const ACCOUNT = "trader";

export function startTestVenue(options: Partial<VenuetwoSimOptions> = {}): Promise<VenuetwoSim> {
  return startVenuetwoSim({
    seed: 11,
    symbols: ["BTCUSDT", "ETHUSDT"],
    flow: { levelCount: 60 },
    accounts: [
      {
        accountId: ACCOUNT,
        deposit: "100000",
        spotDeposit: "500",
        apiKey: API_KEY,
        apiSecret: API_SECRET,
        wallet: mainWallet.address,
        agents: [agentWallet.address],
      },
    ],
    ...options,
  });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // Bodies of foreign shape; the tests name what they expect.
  readonly json: Record<string, unknown> & Record<number, Record<string, unknown>>;
  readonly text: string;
}

export async function call(
  venue: VenuetwoSim,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Answer> {
  const response = await fetch(`${venue.restUrl}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  let json: unknown = null;
  try {
    json = JSON.parse(text);
  } catch {
    // HTML answers have no JSON; the test looks at the text.
  }
  return { status: response.status, headers: response.headers, json: json as Answer["json"], text };
}

export function hmac(payload: string, secret = API_SECRET): string {
  return createHmac("sha256", secret).update(payload).digest("hex");
}

export function form(params: Readonly<Record<string, string | number | boolean>>): string {
  return new URLSearchParams(
    Object.entries(params).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
}

/** V1 signed call; parameters in the query. */
export function signedCall(
  venue: VenuetwoSim,
  method: string,
  path: string,
  params: Record<string, string | number | boolean> = {},
): Promise<Answer> {
  const query = form({ ...params, timestamp: venue.exchange.nowMs() });
  return call(venue, method, `${path}?${query}&signature=${hmac(query)}`, { "X-MBX-APIKEY": API_KEY });
}

const lastNonces = new WeakMap<VenuetwoSim, bigint>();

/** V3 call signed by an agent; GET in the query, others in the body. */
export async function agentCall(
  venue: VenuetwoSim,
  method: string,
  path: string,
  params: Record<string, string | number | boolean> = {},
  options: { signer?: typeof agentWallet; nonce?: bigint; user?: string | null; tamper?: boolean } = {},
): Promise<Answer> {
  const signer = options.signer ?? agentWallet;
  const now = BigInt(venue.exchange.nowMs()) * 1000n;
  const last = lastNonces.get(venue) ?? 0n;
  const nonce = options.nonce ?? (now > last ? now : last + 1n);
  lastNonces.set(venue, nonce);
  const fields: [string, string][] = Object.entries(params).map(([name, value]) => [name, String(value)]);
  fields.push(["nonce", String(nonce)]);
  if (options.user !== null) fields.push(["user", options.user ?? mainWallet.address]);
  fields.push(["signer", signer.address]);
  const text = new URLSearchParams(fields).toString();
  const signature = await signer.signTypedData({
    domain: {
      name: "AsterSignTransaction",
      version: "1",
      chainId: 1666,
      verifyingContract: "0x0000000000000000000000000000000000000000",
    },
    types: { Message: [{ name: "msg", type: "string" }] },
    primaryType: "Message",
    message: { msg: options.tamper === true ? `${text}x` : text },
  });
  const whole = `${text}&signature=${signature}`;
  return method === "GET"
    ? call(venue, method, `${path}?${whole}`)
    : call(venue, method, path, { "content-type": "application/x-www-form-urlencoded" }, whole);
}

export interface Listener {
  readonly socket: WebSocket;
  readonly frames: Record<string, unknown>[];
  /** Resolves when a frame matches (of those already here too); rejects when the socket closes first. */
  waitFor(match: (frame: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  /** Close code; 1006 for a cut. */
  readonly closed: Promise<number>;
  send(message: unknown): void;
}

export async function listen(venue: VenuetwoSim, path: string): Promise<Listener> {
  const socket = new WebSocket(`${venue.wsUrl}${path}`);
  const frames: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  socket.on("message", (data: Buffer) => {
    frames.push(JSON.parse(data.toString("utf8")) as Record<string, unknown>);
    for (const check of [...waiting]) check();
  });
  const closed = new Promise<number>((resolve) => socket.on("close", (code) => resolve(code)));
  // A refused upgrade rejects below; later errors show as the close.
  socket.on("error", () => undefined);
  await new Promise<void>((resolve, reject) => {
    socket.once("open", () => resolve());
    socket.once("unexpected-response", (_request, response) =>
      reject(new Error(`refused with ${response.statusCode}`)),
    );
    socket.once("error", reject);
  });
  return {
    socket,
    frames,
    closed,
    waitFor(match) {
      return new Promise((resolve, reject) => {
        const check = (): void => {
          const found = frames.find(match);
          if (found === undefined) return;
          waiting.delete(check);
          resolve(found);
        };
        waiting.add(check);
        void closed.then((code) => reject(new Error(`closed with ${code}`)));
        check();
      });
    },
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
  };
}

/** A ping answered by the venue proves that everything it sent before has arrived. */
export async function drained(listener: Listener): Promise<void> {
  const answered = new Promise<void>((resolve) => listener.socket.once("pong", () => resolve()));
  listener.socket.ping();
  await Promise.race([answered, listener.closed]);
}
