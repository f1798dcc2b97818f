/**
 * Canary secrets through whole closes: accepted, refused, of unknown outcome, wrongly signed, malformed. Afterwards
 * every log line, reply, metric, status and every byte of the store is searched for them, for the private keys and for
 * every signature that left this process. The search takes the signatures from the wire.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeTrial, closeUntilFinal, sendClose } from "../support/close-judge.js";
import {
  agentCredentialsOf,
  credentialsOf,
  type LocalPair,
  PAIR_VENUES,
  startLocalPair,
  type Trader,
} from "../support/local-pair.js";
import { pause, startSystem, type System } from "../support/system.js";

const CANARY_KEY = "CANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkey1";
const CANARY_SECRET = "CANARYsecretCANARYsecretCANARYsecretCANARYsecretCANARYsecretCAN2";
const WRONG_SECRET = "CANARYwrongCANARYwrongCANARYwrongCANARYwrongCANARYwrongCANARYwr3";
/** A valid key of the curve without an account. */
const STRANGER_KEY = `0x${"c0ffee".repeat(10)}5a5a`;
/** Signatures are at least this long in hex; shorter matches are chance. */
const SIGNATURE_CHARS_MIN = 64;

const DEADLINE_MS = 30_000;
/** Deadline of closes that must end unknown; long enough for the reads before the order on a slow machine. */
const SHORT_MS = 1_500;
const RETRY_MS = 50;
const FINAL_DEADLINE_MS = 150_000;

let pair: LocalPair;
let system: System;
let trader: Trader;
const replies: string[] = [];
const signatures = new Set<string>();

/** undici publishes each request here before it writes it. */
function onRequest(message: unknown): void {
  const { request } = message as { readonly request: { readonly path: string; readonly body?: unknown } };
  const text = `${request.path} ${typeof request.body === "string" ? request.body : ""}`;
  for (const match of text.matchAll(/(?:signature=(?:0x)?|"[rs]":"0x)([0-9a-fA-F]{40,})/g))
    signatures.add((match[1] ?? "").toLowerCase());
}

beforeAll(async () => {
  subscribe("undici:request:create", onRequest);
  pair = await startLocalPair({ seed: 5 });
  trader = pair.addTrader("canary", {
    positions: { BTC: "3", ETH: "-30" },
    apiKey: CANARY_KEY,
    apiSecret: CANARY_SECRET,
  });
  system = await startSystem(pair, { environment: { LOG_LEVEL: "debug" } });
});
afterAll(async () => {
  unsubscribe("undici:request:create", onRequest);
  await pair.stop();
  system.cleanUp();
});

const KILL_SWITCH = "/api/trade/kill-switch";
const BODY = { symbol: "BTC", direction: "LONG", size: "0.01", routingOptions: { deadlineMs: DEADLINE_MS } };

function post(body: unknown) {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } as const;
}

async function killSwitch(body: unknown): Promise<void> {
  const reply = await system.client.send(KILL_SWITCH, post(body));
  expect(reply.status).toBe(200);
  replies.push(reply.text);
}

async function close(key: string, fields: Readonly<Record<string, unknown>>): Promise<string> {
  const body = {
    ...BODY,
    credentials: credentialsOf(trader),
    ...fields,
  };
  const reply = await system.client.close(body, { "idempotency-key": key });
  replies.push(`${reply.text}\n${JSON.stringify(reply.headers)}`);
  return reply.text;
}

/** Repeats a close that sent nothing: books are old for a moment after a pause of the machine. */
async function closeTo(state: string, key: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  let text = await close(key, fields);
  for (; text.includes('"NO_ELIGIBLE_VENUE"'); text = await close(key, fields)) await pause(RETRY_MS);
  expect(text).toContain(`"${state}"`);
}

describe("canary secrets", () => {
  it("appear nowhere, whatever the outcome of the closes that carry them", async () => {
    const secrets = credentialsOf(trader);
    // Accepted on both venues, by agent key, by API key and by the second venue's agent.
    for (const preferredExchange of PAIR_VENUES)
      await closeTo("COMPLETED", `ok-${preferredExchange}`, { preferredExchange });
    await closeTo("COMPLETED", "ok-agent", { credentials: agentCredentialsOf(trader) });
    await closeTo("SIMULATED", "dry", { dryRun: true });
    // Refused: too large, unknown to the venue, wrongly signed, malformed.
    await close("too-large", { size: "1000" });
    await close("stranger", { credentials: { venueone: { privateKey: STRANGER_KEY } } });
    await close("wrong-signature", { credentials: { venuetwo: { ...secrets["venuetwo"], apiSecret: WRONG_SECRET } } });
    await close("wrong-signature-preferred", {
      preferredExchange: "venuetwo",
      credentials: { venuetwo: { ...secrets["venuetwo"], apiSecret: WRONG_SECRET } },
    });
    await close("malformed", { size: CANARY_SECRET, clientOrderId: `a ${STRANGER_KEY}`, [CANARY_KEY]: CANARY_SECRET });
    await close("not-a-key", {
      credentials: { venueone: { privateKey: `${STRANGER_KEY}00` }, venuetwo: CANARY_SECRET },
    });
    // In an operator's text, which is stored, shown and returned to refused callers.
    await killSwitch({ active: true, reason: `leaked: ${CANARY_SECRET} of ${STRANGER_KEY}` });
    const refused = await system.client.send("/api/trade/position/open", post({ ...BODY, credentials: secrets }));
    expect(refused.text).toContain("TRADING_HALTED");
    replies.push(refused.text, (await system.client.get(KILL_SWITCH)).text);
    await killSwitch({ active: false });
    // Unknown: the answer comes after the deadline.
    const unknown = pair.fault(
      PAIR_VENUES,
      { kind: "latency", match: "POST /exchange", delayMs: 3 * SHORT_MS },
      { kind: "latency", match: "POST /fapi", delayMs: 3 * SHORT_MS },
    );
    const trials = PAIR_VENUES.map((venue) =>
      closeTrial(trader, `unknown-${venue}`, {
        symbol: "ETH",
        direction: "SHORT",
        size: "0.5",
        preferredExchange: venue,
        routingOptions: { deadlineMs: SHORT_MS },
      }),
    );
    // Repeats until an order is out: a close without timely reads is refused and sends nothing.
    for (const trial of trials)
      while ((await sendClose(pair, system.client, trial)).data === null) await pause(RETRY_MS);
    unknown();
    for (const trial of trials) await closeUntilFinal(pair, system.client, trial, FINAL_DEADLINE_MS);
    for (const { answers } of trials)
      expect(answers.find(({ data }) => data !== null)?.data?.execution.state).toBe("UNKNOWN");
    replies.push(JSON.stringify(trials.map(({ answers }) => answers)));
    // Limited by the venues. Last, because the service leaves them alone for a while afterwards.
    const rejected = pair.fault(PAIR_VENUES, { kind: "rate429", match: "POST /", retryAfterS: 1, count: 1 });
    for (const preferredExchange of PAIR_VENUES) await close(`limited-${preferredExchange}`, { preferredExchange });
    rejected();

    for (const path of ["/metrics", "/api/status", "/health", "/ready"])
      replies.push((await system.client.get(path)).text);
    const whole = new Map<string, string>([
      ["replies", replies.join("\n")],
      ["stored before the end", storeBytes(system.dataDir)],
    ]);
    await system.stop();
    whole.set("log lines", system.logLines.join(""));
    whole.set("stored at the end", storeBytes(system.dataDir));

    // The search has what it needs: orders were signed, lines were written, records were stored.
    expect(signatures.size).toBeGreaterThan(5);
    expect([...signatures].every((signature) => signature.length >= SIGNATURE_CHARS_MIN - 4)).toBe(true);
    expect(system.logLines.length).toBeGreaterThan(3);
    expect(whole.get("stored at the end")?.length).toBeGreaterThan(1000);
    for (const [name, text] of whole) expect(leaks(text), name).toEqual([]);
    expect(leaks(`…${CANARY_SECRET}…`)).not.toEqual([]);
  }, 300_000);
});

/** Returns each file of the store, byte for byte. */
function storeBytes(directory: string): string {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString("latin1"))
    .join("\n");
}

/** Returns the names of the secrets found, in every spelling that a leak could take. */
function leaks(text: string): string[] {
  const { privateKey, agentKey } = trader.venueone;
  const hexKeys = [privateKey, agentKey, trader.venuetwo.agentKey, STRANGER_KEY].map((key) => key.slice(2));
  const lower = text.toLowerCase();
  const found: string[] = [];
  for (const [index, hex] of hexKeys.entries()) {
    const bytes = Buffer.from(hex, "hex");
    const spellings = [
      bytes.toString("latin1"),
      bytes.toString("base64").replace(/=+$/, ""),
      bytes.toString("base64url"),
    ];
    if (lower.includes(hex.toLowerCase()) || spellings.some((spelling) => text.includes(spelling)))
      found.push(`private key ${index}`);
  }
  for (const secret of [CANARY_KEY, CANARY_SECRET, WRONG_SECRET]) {
    const spellings = [
      secret,
      Buffer.from(secret).toString("base64").slice(0, 40),
      Buffer.from(secret).toString("hex"),
    ];
    if (spellings.some((spelling) => text.includes(spelling))) found.push(secret.slice(0, 12));
  }
  for (const signature of signatures) if (lower.includes(signature)) found.push(`signature ${signature.slice(0, 6)}…`);
  return found;
}
