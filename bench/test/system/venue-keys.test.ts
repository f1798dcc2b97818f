/**
 * A server wallet that trades: both parties as processes, the local venues as real ones. One script from the registration
 * to the revocation at each venue, another library with the key that the caller got, and a service that dies meanwhile.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ccxt from "ccxt";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { countsIn, type Needle } from "../../../engine/custody/sealing/test/process-memory.js";
import type { Fold } from "../../../gateway/stream/test/frame-judge.js";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import type { Reply } from "../../../gateway/test/client.js";
import {
  CustodyBench,
  type CustodyPlace,
  onceServed,
  outcomeOf,
  toldBy,
  type WalletCaller,
  type WalletFields,
  type WalletStand,
  walletStand,
} from "../support/custody-bench.js";
import { type LocalPair, type PairVenue, startLocalPair } from "../support/local-pair.js";
import { SecretSearch } from "../support/secret-search.js";
import type { ServeProcess } from "../support/serve-bench.js";
import { pause } from "../support/system.js";

const SCOPES = ["read", "sign", "trade", "admin"];
const DEPOSIT = "50000";
/** Crosses the book, and stays within its bound. */
const PRICE = "100000";
const QUANTITY = "0.01";

let pair: LocalPair;
let bench: CustodyBench;
const streams: StreamClient[] = [];
vi.setConfig({ testTimeout: 300_000 });
beforeAll(async () => {
  pair = await startLocalPair({ seed: 61, symbols: ["BTC", "ETH"] });
  bench = new CustodyBench(pair);
}, 240_000);
afterEach(async () => {
  await Promise.all(streams.splice(0).map((stream) => stream.stop()));
  await bench.end();
});
afterAll(async () => {
  bench.dispose();
  await pair.stop();
});

const begun = (name: string, changes: Readonly<Record<string, string>> = {}) =>
  walletStand(bench, name, { place: bench.place(name, changes), scopes: SCOPES });

async function fund(venue: PairVenue, { address }: WalletFields): Promise<void> {
  const reply = await fetch(`${pair[venue].restUrl}/_sim/accounts`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ accountId: address.toLowerCase(), deposit: DEPOSIT }),
  });
  expect(reply.status, await reply.text()).toBe(200);
}

function ask(caller: WalletCaller, target: string, body: unknown, { walletId }: WalletFields): Promise<Reply> {
  return caller.post(target, body, { "x-wallet-id": walletId });
}

/** Positions and orders of the wallet at the venue, named by its id alone. */
async function watched(
  { service, caller, wallet }: Pick<WalletStand, "service" | "caller" | "wallet">,
  venue: PairVenue,
): Promise<{ readonly stream: StreamClient; readonly positions: Fold; readonly orders: Fold }> {
  const stream = await StreamClient.open(service.port);
  streams.push(stream);
  expect((await stream.ask(caller.claim())).type).toBe("authenticated");
  const { walletId, address: walletAddress } = wallet;
  const folds: Fold[] = [];
  for (const topic of ["positions", "orders"]) {
    const { subs } = await stream.subscribe({ topic, walletAddress, walletId, exchanges: [venue] });
    folds.push(await stream.fold(subs[0]?.sub ?? ""));
  }
  const [positions, orders] = folds as [Fold, Fold];
  return { stream, positions, orders };
}

type Data = Readonly<Record<string, string | number>>;
const dataOf = ({ body }: Reply) => (body as unknown as { readonly data: Data }).data;
const done = (reply: Reply) => {
  expect(outcomeOf(reply), reply.text).toEqual([200, "ok"]);
  return dataOf(reply);
};

const key = (caller: WalletCaller, venue: PairVenue, { walletId }: WalletFields, rest = "") =>
  caller.post(`/api/trading/${venue}/apikey${rest}`, { walletIdOrAddress: walletId });
const revoke = (caller: WalletCaller, venue: PairVenue, { walletId }: WalletFields) =>
  caller.remove(`/api/trading/${venue}/apikey`, { walletIdOrAddress: walletId });

function order(caller: WalletCaller, venue: PairVenue, wallet: WalletFields): Promise<Reply> {
  const common = { side: "BUY", type: "MARKET", quantity: QUANTITY };
  return venue === "venueone"
    ? ask(
        caller,
        "/api/trading/venueone/orders",
        { userId: wallet.userId, symbol: "BTC", price: PRICE, ...common },
        wallet,
      )
    : ask(caller, "/api/trading/venuetwo/orders", { userId: wallet.userId, symbol: "BTCUSDT", ...common }, wallet);
}

function close(caller: WalletCaller, venue: PairVenue, wallet: WalletFields): Promise<Reply> {
  const { userId, walletId } = wallet;
  const exit = { userId, symbol: "BTC", side: "SELL", type: "MARKET", quantity: QUANTITY, price: "80000" };
  return venue === "venueone"
    ? ask(caller, `/api/venueone/${walletId}/positions/close/BTC`, { ...exit, reduceOnly: true }, wallet)
    : ask(caller, `/api/venuetwo/perp/${walletId}/close-position`, { symbol: "BTCUSDT" }, wallet);
}

function lots(venue: PairVenue, { address }: WalletFields): number {
  const symbol = venue === "venueone" ? "BTC" : "BTCUSDT";
  return pair[venue].exchange.accounts.position(address.toLowerCase(), symbol, "BOTH")?.qtyLots ?? 0;
}

/** Agents that the wallet made and dropped at the venue, in order. */
function acts(venue: PairVenue, { address }: WalletFields): string[] {
  return pair[venue].log
    .records({ accountId: address.toLowerCase() })
    .filter(({ agent, refusal }) => agent !== null && refusal === null)
    .map(({ action }) => action);
}

async function exchangesOf(caller: WalletCaller, { walletId }: WalletFields): Promise<Data[]> {
  const reply = await caller.find(walletId);
  return (reply.body as unknown as { readonly exchanges: Data[] }).exchanges;
}

/** Everything that a place holds, and what its service wrote. */
function leaves(search: SecretSearch, place: CustodyPlace, service: ServeProcess): string[] {
  const files = readdirSync(place.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  return [...files, service.stdout, service.stderr].flatMap((text) => search.in(text));
}

/** What makes a wallet's first key, and what the next ones. */
const MAKES = {
  venueone: ["approveAgent", "approveAgent"],
  venuetwo: ["registerAgent", "approveAgent"],
} as const;

/** A key that a reply told, as bytes and as text. */
function keyNeedles({ apiPrivateKey }: Data): Needle[] {
  if (apiPrivateKey === undefined) return [];
  const hex = String(apiPrivateKey).slice(2);
  const bytes = Buffer.from(hex, "hex");
  return [
    ["bytes", bytes],
    ["bytes in the other order", Buffer.from(bytes).reverse()],
    ["hex", Buffer.from(hex)],
    ["base64", Buffer.from(bytes.toString("base64").slice(0, 40))],
  ];
}

/** What of the key is public, and is kept: its address, lower case. */
function controlOf({ apiWalletAddress, signerAddress }: Data): Needle {
  return ["control", Buffer.from(String(apiWalletAddress ?? signerAddress).toLowerCase())];
}

describe.each(["venueone", "venuetwo"] as const)("at %s a wallet", (venue) => {
  const [firstAct, nextAct] = MAKES[venue];

  it("registers, trades, closes, rotates and revokes by its id, with one approval for each key", async () => {
    const { place, service, apiKey, caller, wallet } = await begun(`script-${venue}`, { RECORDING: "true" });
    const seen = await watched({ service, caller, wallet }, venue);
    expect(outcomeOf(await order(caller, venue, wallet))).toEqual([401, "MISSING_CREDENTIALS"]);
    if (venue === "venueone") {
      expect(outcomeOf(await key(caller, venue, wallet))).toEqual([400, "ACCOUNT_NOT_FUNDED"]);
      expect(await exchangesOf(caller, wallet)).toEqual([]);
      await fund(venue, wallet);
    }
    const first = done(await onceServed(() => key(caller, venue, wallet)));
    if (venue === "venuetwo") await fund(venue, wallet);
    expect(outcomeOf(await key(caller, venue, wallet))).toEqual([409, "API_KEY_EXISTS"]);
    expect(acts(venue, wallet)).toEqual([firstAct]);

    done(await order(caller, venue, wallet));
    expect(lots(venue, wallet)).toBeGreaterThan(0);
    // The subscriptions are older than the key.
    await seen.stream.until(
      () => seen.positions.rows.size === 1 && seen.orders.events.length > 0,
      "the trade is shown",
    );
    done(await close(caller, venue, wallet));
    expect(lots(venue, wallet)).toBe(0);
    await seen.stream.until(() => seen.positions.rows.size === 0, "its end is shown");

    const second = done(await key(caller, venue, wallet, "/rotate"));
    expect(second).not.toEqual(first);
    done(await order(caller, venue, wallet));
    await seen.stream.until(() => seen.positions.rows.size === 1, "a trade of the next key is shown");
    done(await close(caller, venue, wallet));
    const history = await recorded(caller);
    const told = JSON.stringify([seen.stream.frames, history]);
    expect((await exchangesOf(caller, wallet)).map(({ status }) => status)).toEqual(["RETIRING", "ACTIVE"]);
    expect(acts(venue, wallet)).toEqual([firstAct, nextAct]);

    await bench.stop(service, "SIGKILL");
    const again = await bench.start(place);
    const later = bench.caller(again, apiKey);
    done(await onceServed(() => order(later, venue, wallet)));
    done(await close(later, venue, wallet));
    // Between two requests the service holds no copy of the key, in use or freed; the control is its address.
    const needles = [controlOf(second), ...keyNeedles(second)];
    expect([...countsIn(Number(again.child.pid), needles).keys()]).toEqual(["control"]);
    expect(done(await onceServed(() => revoke(later, venue, wallet)))).toEqual({
      exchange: venue,
      status: "REVOKED",
      count: 2,
    });
    expect(acts(venue, wallet)).toEqual([firstAct, nextAct, "revokeAgent", "revokeAgent"]);
    expect(outcomeOf(await order(later, venue, wallet))).toEqual([401, "MISSING_CREDENTIALS"]);
    expect(await exchangesOf(later, wallet)).toEqual([]);

    const search = new SecretSearch();
    for (const { apiPrivateKey } of [first, second])
      if (apiPrivateKey !== undefined) search.addBytes("agent", Buffer.from(String(apiPrivateKey).slice(2), "hex"));
    expect(search.count).toBe(venue === "venueone" ? 2 : 0);
    expect([...leaves(search, place, service), ...leaves(search, place, again), ...search.in(told)]).toEqual([]);
  });

  it("has one key after a lost reply, and after a kill while the approval is under way", async () => {
    const { place, service, apiKey, caller, wallet } = await begun(`lost-${venue}`);
    if (venue === "venueone") await fund(venue, wallet);
    const match =
      venue === "venueone" ? ["POST /exchange", "POST /exchange"] : ["registerAndApproveAgent", "approveAgent"];
    pair.fault([venue], { kind: "replyLost", match: match[0] ?? "", count: 1 });
    const first = done(await onceServed(() => key(caller, venue, wallet)));
    expect(acts(venue, wallet)).toEqual([firstAct]);

    // The venue takes the next approval two seconds after its sender is gone.
    const isHeld = () => pair[venue].faults.hits().heldRequest;
    const before = isHeld();
    pair.fault([venue], { kind: "heldRequest", match: match[1] ?? "", count: 1, delayMs: 2_000 });
    const cut = key(caller, venue, wallet, "/rotate").catch(() => null);
    while (isHeld() === before) await pause(20);
    await bench.stop(service, "SIGKILL");
    await cut;
    const later = bench.caller(await bench.start(place), apiKey);
    const second = done(await onceSettled(() => key(later, venue, wallet, "/rotate")));
    expect(second).not.toEqual(first);
    expect(acts(venue, wallet).slice(0, 2)).toEqual([firstAct, nextAct]);
    expect((await exchangesOf(later, wallet)).map(({ status }) => status)).toContain("ACTIVE");
  });
});

it("another library trades at venueone with the key that the caller got", async () => {
  const { caller, wallet } = await begun("library");
  await fund("venueone", wallet);
  const { apiPrivateKey, mainWalletAddress } = done(await onceServed(() => key(caller, "venueone", wallet)));
  const { restUrl } = pair.venueone;
  const library = new ccxt.hyperliquid({
    walletAddress: String(mainWalletAddress),
    privateKey: String(apiPrivateKey),
    enableRateLimit: false,
    urls: { api: { public: restUrl, private: restUrl } },
  });
  try {
    const placed = await library.createOrder("BTC/USDC:USDC", "market", "buy", Number(QUANTITY), Number(PRICE));
    expect(placed.id).toMatch(/^\d+$/);
    expect(lots("venueone", wallet)).toBeGreaterThan(0);
    done(await close(caller, "venueone", wallet));
    expect(lots("venueone", wallet)).toBe(0);
  } finally {
    await library.close();
  }
});

/** The record of fills and decisions, once it has fills. */
async function recorded(caller: WalletCaller): Promise<string[]> {
  for (;;) {
    const replies = await Promise.all(
      ["fills", "routing"].map((kind) => caller.ask(`/api/history/${kind}?limit=1000`)),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    if (replies[0]?.text.includes('"orderKey"') === true) return replies.map(({ text }) => text);
    await pause(100);
  }
}

/** The answer once the venue has said what became of the approval. */
async function onceSettled(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await onceServed(send);
    if (toldBy(reply).code !== "REGISTRATION_UNSETTLED") return reply;
    await pause(200);
  }
}
