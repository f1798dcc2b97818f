/**
 * Mutated requests against keys of all kinds, in all modes. Nothing throws, and nothing is accepted that an independent
 * reading of docs/api-keys.md does not accept: that is written here a second time, with `createHmac` and without a table.
 *
 * `INPUTS=1000000` runs it whole, `FUZZ_SEED` replays; the count is printed.
 */
import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import type { KeyHeaders, SignedRequest } from "../http/caller.js";
import type { NewSecret } from "./key-admin.js";
import { type AuthHarness, outcome, signed, startAuth, WISH } from "./test/auth-harness.js";

const INPUTS = Number(process.env["INPUTS"] ?? 6_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_126);
const MODES = ["signed", "secret", "public"] as const;
const METHODS = ["GET", "HEAD", "POST", "DELETE", "PATCH", "get", "", "GE T", "POST\0"];
const TARGETS = [
  "/api/limits",
  "/api/x?y=1&y=2",
  "/",
  "",
  "*",
  "/{",
  "/é",
  "/\u0000",
  "/api/trade/position/close",
  "/ws",
  "//",
];
const BODIES = ["", "{}", '{"symbol":"BTC"}', " {}", "[]", "null", "x", "\u00a0{}", "é", "{".repeat(300)];
const TEXTS = [
  "",
  " ",
  "0",
  "-1",
  "+5",
  "1e3",
  "NaN",
  "null",
  "__proto__",
  "\0",
  "é",
  "1,2",
  "0x10",
  "٣",
  "9".repeat(17),
  "a".repeat(5_000),
];
const HEADERS = ["apiKey", "timestamp", "recvWindow", "signature", "secret"] as const;

interface Known extends NewSecret {
  readonly isRevoked: boolean;
  /** Null: any. */
  readonly onlyFrom: string | null;
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random.next() * list.length)] as T;
}

/** A text with one thing changed. */
function mutated(random: Random, text: string): string {
  const at = Math.floor(random.next() * (text.length + 1));
  const extra = pick(random, ["0", "a", "A", " ", ",", "\n", "é", "F", "-", "{", ""]);
  const kind = Math.floor(random.next() * 6);
  if (kind === 0) return text.slice(0, at) + extra + text.slice(at);
  if (kind === 1) return text.slice(0, at) + text.slice(at + 1);
  if (kind === 2) return text.slice(0, at) + extra + text.slice(at + 1);
  if (kind === 3) return text.toUpperCase();
  if (kind === 4) return `${text},${text}`;
  return pick(random, TEXTS);
}

function requestOf(random: Random, keys: readonly Known[], nowMs: number): SignedRequest {
  const key = pick(random, keys);
  const isOdd = random.next() < 0.5;
  const offsetMs = isOdd ? pick(random, [0, -1, -4_999, -5_000, -5_001, 999, 1_000, 1_001, -60_000, 3_600_000]) : 0;
  const sending = {
    ...{ keyId: key.key.keyId, secret: key.secret, timestamp: nowMs + offsetMs },
    ...(random.next() < 0.3
      ? { recvWindow: pick(random, ["1000", "5000", "60000", "999", "60001", "05000", "x"]) }
      : {}),
    method: pick(random, isOdd ? METHODS : METHODS.slice(0, 5)),
    target: pick(random, isOdd ? TARGETS : TARGETS.slice(0, 2)),
    body: pick(random, isOdd ? BODIES : BODIES.slice(0, 3)),
  };
  let request = signed(sending, { secret: random.next() < 0.3 ? key.secret : null });
  for (let count = Math.floor(random.next() * 3); count > 0; count--) request = changed(random, request);
  return { ...request, address: pick(random, ["192.0.2.1", "192.0.2.1", "198.51.100.1", "", "::1"]) };
}

function changed(random: Random, request: SignedRequest): SignedRequest {
  const kind = Math.floor(random.next() * 8);
  if (kind === 0) return { ...request, method: pick(random, METHODS) };
  if (kind === 1) return { ...request, target: mutated(random, request.target) };
  if (kind === 2) return { ...request, body: Buffer.from(mutated(random, Buffer.from(request.body).toString())) };
  if (kind === 3) return moved(random, request);
  const header = pick(random, HEADERS);
  const value = random.next() < 0.2 ? null : mutated(random, request.headers[header] ?? "");
  return { ...request, headers: { ...request.headers, [header]: value } };
}

/** The border between target and body at another place. */
function moved(random: Random, request: SignedRequest): SignedRequest {
  const whole = request.target + Buffer.from(request.body).toString();
  const at = Math.floor(random.next() * (whole.length + 1));
  return { ...request, target: whole.slice(0, at), body: Buffer.from(whole.slice(at)) };
}

/** Whether the page for users accepts it, but for replays. `null` caller: no key shown. */
function isAcceptable(
  mode: (typeof MODES)[number],
  request: SignedRequest,
  keys: readonly Known[],
  nowMs: number,
): boolean {
  const { apiKey, timestamp, recvWindow, signature, secret } = trimmedHeaders(request.headers);
  if (mode === "public" && apiKey + timestamp + recvWindow + signature + secret === "") return true;
  const key = keys.find(({ key: { keyId } }) => keyId === apiKey);
  if (key === undefined || key.isRevoked) return false;
  if (key.onlyFrom !== null && request.address !== key.onlyFrom) return false;
  if (secret !== "" && secret !== key.secret) return false;
  if (mode === "secret" && signature === "") return secret !== "";
  if (!/^[1-9][0-9]{0,15}$/.test(timestamp) || !/^([1-9][0-9]*)?$/.test(recvWindow)) return false;
  const windowMs = recvWindow === "" ? 5_000 : Number(recvWindow);
  if (windowMs < 1_000 || windowMs > 60_000) return false;
  if (Number(timestamp) < nowMs - windowMs || Number(timestamp) > nowMs + 1_000) return false;
  const body = Buffer.from(request.body).toString("latin1");
  if (/[\0-\x20{\x7f]/.test(request.target) || !request.target.startsWith("/")) return false;
  if (body !== "" && !/^[ \t\r\n]*\{/.test(body)) return false;
  const head = timestamp + recvWindow + request.method + request.target;
  return signature === createHmac("sha256", key.secret).update(head).update(request.body).digest("hex");
}

function trimmedHeaders(headers: KeyHeaders): Record<(typeof HEADERS)[number], string> {
  const { apiKey, timestamp, recvWindow, signature, secret } = headers;
  return {
    ...{ apiKey: apiKey ?? "", timestamp: timestamp ?? "", recvWindow: recvWindow ?? "" },
    ...{ signature: signature ?? "", secret: secret ?? "" },
  };
}

async function keysOf(harness: AuthHarness): Promise<Known[]> {
  const plain = await harness.keys.create(WISH);
  const bound = await harness.keys.create({ ...WISH, ips: ["192.0.2.1"] });
  const revoked = await harness.keys.create(WISH);
  await harness.keys.revoke(revoked.key.keyId);
  return [
    { ...plain, isRevoked: false, onlyFrom: null },
    { ...bound, isRevoked: false, onlyFrom: "192.0.2.1" },
    { ...revoked, isRevoked: true, onlyFrom: null },
  ];
}

it.each(MODES)("in mode %s mutated requests are accepted exactly where the signature is right", async (mode) => {
  const harness = await startAuth({ mode });
  const keys = await keysOf(harness);
  const random = createSeededRandom(SEED + MODES.indexOf(mode));
  const accepted = new Set<string>();
  /** The last accepted ones, to be sent again. */
  const recent: SignedRequest[] = [];
  let okCount = 0;
  let replayCount = 0;
  const count = Math.ceil(INPUTS / MODES.length);
  for (let index = 0; index < count; index++) {
    const nowMs = harness.clock.wallMs();
    const request = recent.length > 0 && random.next() < 0.1 ? pick(random, recent) : requestOf(random, keys, nowMs);
    const got = outcome(harness.auth.authenticate(request));
    const { apiKey, signature } = request.headers;
    const isOnce = request.method !== "GET" && request.method !== "HEAD" && signature !== null && signature !== "";
    const name = `${apiKey} ${signature}`;
    const isWanted = isAcceptable(mode, request, keys, nowMs);
    const wanted = !isWanted ? "refused" : isOnce && accepted.has(name) ? "AUTH_REPLAY" : "ok";
    if ((got === "ok" || got === "AUTH_REPLAY" ? got : "refused") !== wanted)
      expect.fail(`FUZZ_SEED=${SEED} input ${index}: ${got}, not ${wanted}: ${JSON.stringify(request)}`);
    if (wanted === "ok" && isOnce) accepted.add(name);
    if (got === "ok") recent[okCount++ % 32] = request;
    if (got === "AUTH_REPLAY") replayCount++;
    if (index % 16 === 0) harness.clock.advance(1);
  }
  // With too few accepted the test would prove nothing.
  expect(okCount).toBeGreaterThan(count / 20);
  expect(replayCount).toBeGreaterThan(count / 200);
  expect(harness.auth.refusedCounts.get("INTERNAL")).toBeUndefined();
  process.stdout.write(`${mode}: ${count} requests, ${okCount} accepted, ${replayCount} replays refused\n`);
});
