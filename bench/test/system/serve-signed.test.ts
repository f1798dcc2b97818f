/**
 * `npm run serve` as a process, with keys, a sealing key and local venues that are configured as real ones: what holders
 * of keys, strangers and the operator get, judged by the venues' own order logs.
 */
import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { ContractJudge, type Reply } from "../../../gateway/test/client.js";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import { credentialsOf, type LocalPair, PAIR_VENUES, startLocalPair, type Trader } from "../support/local-pair.js";
import { type CallerKey, RECV_WINDOW, SignedCaller, signedRequest } from "../support/signed-caller.js";
import { type Place, ServeBench, type ServeProcess } from "../support/serve-bench.js";
import { found, pause, waitUntil } from "../support/system.js";

const CLOSE = "/api/trade/position/close";
const SIZE = "0.01";

/** A ceiling: each test starts several processes, and a shared machine may take its cores away for a while. */
vi.setConfig({ testTimeout: 300_000 });

let pair: LocalPair;
let bench: ServeBench;
const judge = new ContractJudge();
const callers: SignedCaller[] = [];
const streams: StreamClient[] = [];
const services: ServeProcess[] = [];

beforeAll(async () => {
  pair = await startLocalPair({ seed: 14, symbols: ["BTC", "ETH"] });
  bench = new ServeBench(pair);
}, 240_000);
afterEach(async () => {
  await Promise.all([...callers.splice(0), ...streams.splice(0)].map((one) => one.stop()));
  await Promise.all(services.splice(0).map((service) => bench.stop(service, "SIGKILL")));
});
afterAll(async () => {
  bench.dispose();
  await pair.stop();
});

/** Resolves once it serves with all its parts: before its books are live a close finds no venue. */
async function start(place: Place, changes: Readonly<Record<string, string>> = {}): Promise<ServeProcess> {
  const service = await bench.start(place, changes);
  services.push(service);
  await found("the service is ready", async () => ((await fetch(`${service.url}/ready`)).ok ? true : null));
  return service;
}

function callerOf({ url }: ServeProcess, key: CallerKey): SignedCaller {
  const caller = new SignedCaller(url, key, judge);
  callers.push(caller);
  return caller;
}

function traderOf(label: string): { readonly trader: Trader; readonly body: string } {
  const trader = pair.addTrader(label, { positions: { BTC: "1" } });
  const fields = { symbol: "BTC", direction: "LONG", size: SIZE, credentials: credentialsOf(trader) };
  return { trader, body: JSON.stringify(fields) };
}

/** Filled sizes of the trader's orders in the venues' own logs, in the order of their arrival. */
function filledSizes(trader: Trader): string[] {
  const accounts = [trader.venueone.address, trader.venuetwo.accountId];
  return PAIR_VENUES.flatMap((venue) => pair[venue].log.records({ action: "place" }))
    .filter(({ accountId }) => accounts.includes(accountId))
    .map(({ filledQty }) => String(Number(filledQty ?? 0)));
}

interface Told {
  readonly code?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly data?: {
    readonly execution: { readonly filledSize: string };
    readonly routing: { readonly routeId: string };
  };
}

const told = ({ body }: Reply) => body as unknown as Told;
const routeOf = ({ data }: Told) => data?.routing.routeId ?? "none";
const outcomeOf = (reply: Reply) => [reply.status, told(reply).code ?? "ok"];

/** After a crash writes are refused for a moment: a caller tries again with the time of then. */
async function writeAfterCrash(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await send();
    if (told(reply).details?.["reason"] !== "BEFORE_START") return reply;
    expect(outcomeOf(reply)).toEqual([401, "AUTH_TIMESTAMP_OUT_OF_WINDOW"]);
    await pause(250);
  }
}

/** As a stranger may compare it: without what differs from request to request. */
function bodyText({ text }: Reply, id: string): string {
  return text
    .replaceAll(id, "ID")
    .replace(/"(?:timestamp|serverTime)":\d+/g, '"time":0')
    .replace(/"requestId":"[^"]*"/, "");
}

describe("npm run serve, signed, as a process,", () => {
  it("executes a signed close once, and sends nothing for a request that is wrong", async () => {
    const place = bench.place("signed");
    const service = await start(place);
    expect(statSync(join(place.dataDir, "admin.sock")).mode & 0o777).toBe(0o600);
    const trades = await bench.createKey(place, "--scope", "read,trade", "--label", "desk");
    const reads = await bench.makeKey(place, ["read"]);
    const elsewhere = await bench.makeKey(place, ["read"], ["192.0.2.1"]);
    const here = await bench.createKey(place, "--scope", "read", "--ip", "192.0.2.1", "--ip", "127.0.0.0/8");
    const desk = callerOf(service, trades);
    const { trader, body } = traderOf("signed");

    expect(outcomeOf(await desk.send("/api/limits", {}))).toEqual([401, "AUTH_MISSING_HEADER"]);
    expect((await desk.ask("/api/limits")).status).toBe(200);
    const request = signedRequest(trades, CLOSE, { method: "POST", body });
    const done = await desk.send(CLOSE, request);
    expect([done.status, told(done).data?.execution.filledSize]).toEqual([200, SIZE]);
    expect(filledSizes(trader)).toEqual([SIZE]);

    const again = await desk.send(CLOSE, request);
    expect(outcomeOf(again)).toEqual([401, "AUTH_REPLAY"]);
    const changed = body.replace(`"${SIZE}"`, '"0.02"');
    const tampered = await desk.send(CLOSE, { ...request, body: changed });
    expect(outcomeOf(tampered)).toEqual([401, "AUTH_BAD_SIGNATURE"]);
    const signedBytes = `${request.headers?.["x-api-timestamp"]}${RECV_WINDOW}POST${CLOSE}${changed}`;
    const digest = createHash("sha256").update(signedBytes).digest("hex");
    expect(told(tampered).details).toMatchObject({ prehashSha256: digest, serverTime: expect.any(Number) });
    for (const shiftMs of [-2 * Number(RECV_WINDOW), Number(RECV_WINDOW)]) {
      const late = await desk.ask(CLOSE, { method: "POST", body, shiftMs });
      expect(outcomeOf(late)).toEqual([401, "AUTH_TIMESTAMP_OUT_OF_WINDOW"]);
      expect(told(late).details?.["serverTime"]).toEqual(expect.any(Number));
    }
    const reader = callerOf(service, reads);
    const refused = await reader.close(body);
    expect(outcomeOf(refused)).toEqual([403, "SCOPE_MISSING"]);
    expect(told(refused).details).toMatchObject({ scope: "trade" });
    const nobody = callerOf(service, { keyId: "pk_nobody", secret: "sk_nobody" });
    expect(outcomeOf(await nobody.close(body))).toEqual([401, "AUTH_UNKNOWN_KEY"]);
    const far = await callerOf(service, elsewhere).ask("/api/limits");
    expect(outcomeOf(far)).toEqual([403, "IP_NOT_ALLOWED"]);
    expect(told(far).details).toMatchObject({ address: "127.0.0.1" });
    expect((await callerOf(service, here).ask("/api/limits")).status).toBe(200);
    expect(filledSizes(trader)).toEqual([SIZE]);

    const operator = await bench.makeKey(place, ["admin"]);
    for (const active of [true, false]) {
      const halt = { method: "POST", body: JSON.stringify({ active, reason: "drill" }) } as const;
      expect((await callerOf(service, operator).ask("/api/trade/kill-switch", halt)).status).toBe(200);
      expect(outcomeOf(await desk.ask("/api/trade/kill-switch", halt))).toEqual([403, "SCOPE_MISSING"]);
    }

    const audit = await bench.unwind(place, "audit", "--json");
    const { rows } = JSON.parse(audit.stdout) as { readonly rows: readonly Readonly<Record<string, unknown>>[] };
    expect(rows.filter(({ what }) => what === "key.create")).toHaveLength(5);
    const halts = rows.filter(({ who }) => who === operator.keyId).map(({ what, outcome }) => [what, outcome]);
    expect(halts).toEqual([
      ["trade.resume", "done"],
      ["trade.halt", "done"],
    ]);
    expect(rows).toContainEqual(
      expect.objectContaining({ who: elsewhere.keyId, what: "key.address", outcome: "refused" }),
    );
    const output = `${service.stdout}${service.stderr}${audit.stdout}`;
    for (const { secret } of [trades, reads, elsewhere, here]) expect(output).not.toContain(secret);
  });

  it("takes the former secret beside a new one, until its overlap ends or the next rotation", async () => {
    const place = bench.place("rotated");
    const service = await start(place);
    const { secret: first, keyId } = await bench.makeKey(place, ["read"]);
    const rotate = async (overlap: string): Promise<string> => {
      const { stdout } = await bench.unwind(place, "keys", "rotate", keyId, "--overlap", overlap, "--json");
      return (JSON.parse(stdout) as { readonly secret: string }).secret;
    };
    const outcome = async (secret: string) => outcomeOf(await callerOf(service, { keyId, secret }).ask("/api/limits"));
    const second = await rotate("24h");
    expect(await outcome(first)).toEqual([200, "ok"]);
    expect(await outcome(second)).toEqual([200, "ok"]);
    const third = await rotate("1s");
    expect(await outcome(first)).toEqual([401, "AUTH_BAD_SIGNATURE"]);
    await expect.poll(() => outcome(second)).toEqual([401, "AUTH_BAD_SIGNATURE"]);
    expect(await outcome(third)).toEqual([200, "ok"]);
  });

  it("refuses the next request of a revoked key, and ends its stream within a second", async () => {
    const place = bench.place("revoked");
    const service = await start(place);
    const key = await bench.makeKey(place, ["read", "trade"]);
    const other = await bench.makeKey(place, ["read"]);
    const caller = callerOf(service, key);
    const open = async (of: SignedCaller): Promise<StreamClient> => {
      const stream = await StreamClient.open(service.port);
      streams.push(stream);
      expect((await stream.ask(of.claim())).type).toBe("authenticated");
      return stream;
    };
    const stream = await open(caller);
    const kept = await open(callerOf(service, other));
    expect((await caller.ask("/api/limits")).status).toBe(200);
    expect((await bench.unwind(place, "keys", "revoke", key.keyId)).code).toBe(0);
    await waitUntil("its stream is closed", 1_000, () => stream.end !== null);
    expect(stream.end).toMatchObject({ code: 4401 });
    expect(outcomeOf(await caller.ask("/api/limits"))).toEqual([401, "KEY_REVOKED"]);
    expect(await kept.ask({ op: "ping" })).toMatchObject({ type: "pong" });
    expect((await bench.unwind(place, "keys", "revoke", key.keyId)).code).not.toBe(1);
  });

  it("knows its keys and whose executions are whose after kill -9", async () => {
    const place = bench.place("killed");
    const before = await start(place);
    const owner = await bench.makeKey(place, ["read", "trade"]);
    const colleague = await bench.createKey(place, "--scope", "read", "--owner", owner.ownerId);
    const stranger = await bench.makeKey(place, ["read", "trade"]);
    const { trader, body } = traderOf("killed");
    const key = { "idempotency-key": "killed-1" };
    const done = told(await callerOf(before, owner).close(body, key));
    const routeId = routeOf(done);
    expect(filledSizes(trader)).toEqual([SIZE]);
    await bench.stop(before, "SIGKILL");

    const service = await start(place);
    const path = (id: string) => `/api/trade/executions/${id}`;
    for (const one of [owner, colleague]) {
      const shown = await callerOf(service, one).ask(path(routeId));
      expect(shown.status).toBe(200);
      expect(shown.text).toContain(routeId);
    }
    const outsider = callerOf(service, stranger);
    const unknownId = `${routeId.slice(0, -4)}${routeId.endsWith("0000") ? "1111" : "0000"}`;
    const [foreign, unknown] = [await outsider.ask(path(routeId)), await outsider.ask(path(unknownId))];
    expect(foreign.status).toBe(404);
    expect([foreign.status, bodyText(foreign, routeId)]).toEqual([unknown.status, bodyText(unknown, unknownId)]);
    const repeated = await writeAfterCrash(() => callerOf(service, owner).close(body, key));
    expect([repeated.status, repeated.headers["idempotent-replayed"]]).toEqual([200, "true"]);
    expect(routeOf(told(repeated))).toBe(routeId);
    expect(filledSizes(trader)).toEqual([SIZE]);
  });

  it("starts with the sealing key of its store alone, and with the next one after a rotation", async () => {
    const place = bench.place("sealed");
    const first = await start(place);
    const key = await bench.makeKey(place, ["read"]);
    const nextKek = bench.kek(place.folder, "kek-next");
    const wrongKek = bench.kek(place.folder, "kek-wrong");
    const refusedBy = async (changes: Readonly<Record<string, string>>) => {
      const { code, stdout, stderr } = await bench.launch(place, { LOG_LEVEL: "error", ...changes }).ended;
      expect([code, stdout]).toEqual([2, ""]);
      return stderr;
    };
    await bench.stop(first, "SIGTERM");
    expect(await refusedBy({ KEK_FILE: "" })).toMatch(/^unwind cannot start:\n {2}- .*no key to seal.*KEK_FILE/);
    expect(await refusedBy({ KEK_FILE: "", AUTH_MODE: "public", UNWIND_PROFILE: "start" })).toMatch(
      /^unwind cannot start: .*sealed here under the key [0-9a-f]{16}, and no key is given/,
    );
    expect(await refusedBy({ KEK_FILE: wrongKek })).toMatch(
      /^unwind cannot start: .*sealed under the key [0-9a-f]{16}; the one given is another/,
    );

    const second = await start(place);
    expect((await callerOf(second, key).ask("/api/limits")).status).toBe(200);
    const rotated = await bench.unwind(place, "seal", "rotate", "--to-file", nextKek, "--json");
    expect(JSON.parse(rotated.stdout)).toMatchObject({ isDone: true, leftRows: 0 });
    expect((await callerOf(second, key).ask("/api/limits")).status).toBe(200);
    await bench.stop(second, "SIGTERM");
    expect(await refusedBy({})).toMatch(/the one given is another|give [0-9a-f]{16} as the key/);
    const third = await start(place, { KEK_FILE: nextKek });
    expect((await callerOf(third, key).ask("/api/limits")).status).toBe(200);
    expect(existsSync(place.kekFile)).toBe(true);
  });
});

describe("an installation that goes from public to signed", () => {
  const PUBLIC = { UNWIND_PROFILE: "start", AUTH_MODE: "public", KEK_FILE: "" };

  async function closedInPublic(name: string) {
    const place = bench.place(name);
    const service = await start(place, PUBLIC);
    const { trader, body } = traderOf(name);
    const headers = { "content-type": "application/json", "idempotency-key": `${name}-1` };
    const caller = callerOf(service, { keyId: "", secret: "" });
    const done = told(await caller.send(CLOSE, { method: "POST", body, headers }));
    expect(filledSizes(trader)).toEqual([SIZE]);
    await bench.stop(service, "SIGTERM");
    return { place, trader, body, headers: { "idempotency-key": `${name}-1` }, done };
  }

  it("finds the earlier order for the retry of who adopted it, and places one of their own for anybody else", async () => {
    const { place, trader, body, headers, done } = await closedInPublic("adopted");
    // Before the first start in the new mode: the store is opened by the command itself.
    const heir = await bench.createKey(place, "--scope", "read,trade", "--adopt-local");
    const service = await start(place);
    const stranger = await bench.makeKey(place, ["read", "trade"]);
    const again = await callerOf(service, heir).close(body, headers);
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([200, "true"]);
    expect(routeOf(told(again))).toBe(routeOf(done));
    expect(filledSizes(trader)).toEqual([SIZE]);
    const own = await callerOf(service, stranger).close(body, headers);
    expect([own.status, own.headers["idempotent-replayed"]]).toEqual([200, undefined]);
    expect(routeOf(told(own))).not.toBe(routeOf(done));
    expect(filledSizes(trader)).toEqual([SIZE, SIZE]);
    const second = await bench.unwind(place, "keys", "create", "--scope", "read", "--adopt-local", "--json");
    expect(second).toMatchObject({ stdout: "" });
    expect([2, 3]).toContain(second.code);
  });

  it("places a new order for a key of an owner that adopted nothing", async () => {
    const { place, trader, body, headers, done } = await closedInPublic("kept-local");
    const service = await start(place);
    const key = await bench.makeKey(place, ["read", "trade"]);
    const own = await callerOf(service, key).close(body, headers);
    expect([own.status, own.headers["idempotent-replayed"]]).toEqual([200, undefined]);
    expect(filledSizes(trader)).toEqual([SIZE, SIZE]);
    const unseen = await callerOf(service, key).ask(`/api/trade/executions/${routeOf(done)}`);
    expect(unseen.status).toBe(404);
  });
});
