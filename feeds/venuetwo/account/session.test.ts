import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { openVenuetwoSession, VenuetwoSession } from "./session.js";
import { AGENT, AGENT_KEY, API_KEY, API_SECRET, V1, V3, WALLET } from "../test/trading-harness.js";

function open(raw: unknown): VenuetwoSession {
  const opened = openVenuetwoSession(raw);
  if (!opened.ok || !(opened.session instanceof VenuetwoSession)) throw new Error("did not open");
  return opened.session;
}

describe("credentials of venuetwo", () => {
  it("opens a V1 key, with or without a wallet address, labelled by a hash of the key", () => {
    const session = open(V1);
    expect(session.identity).toEqual({ kind: "v1", apiKey: API_KEY });
    expect(session.accountId).toMatch(/^key:[0-9a-f]{40}$/);
    expect(open({ apiKey: API_KEY, apiSecret: API_SECRET }).accountId).toBe(session.accountId);
    expect(open({ ...V1, apiKey: "another" }).accountId).not.toBe(session.accountId);
  });

  it("opens an agent when the key is an address and the secret a key, labelled by the wallet", () => {
    expect(open(V3).identity).toEqual({ kind: "v3", user: WALLET, signer: AGENT });
    expect(open({ ...V3, apiSecret: AGENT_KEY }).accountId).toBe(WALLET.toLowerCase());
    expect(open({ ...V3, apiKey: AGENT.toLowerCase() }).identity.kind).toBe("v3");
  });

  it("opens secrets as bytes, which stay the caller's: an agent's key, and the characters of a V1 secret", () => {
    const agentKey = Uint8Array.from(Buffer.from(AGENT_KEY.replace(/^0x/, ""), "hex"));
    const characters = Uint8Array.from(Buffer.from(API_SECRET));
    const sessions = [open({ ...V3, apiSecret: agentKey }), open({ ...V1, apiSecret: characters })];
    agentKey.fill(0);
    characters.fill(0);
    expect(sessions.map((session) => session.withSecret((secret) => Buffer.from(secret).toString("hex")))).toEqual([
      AGENT_KEY.replace(/^0x/, ""),
      Buffer.from(API_SECRET).toString("hex"),
    ]);
    for (const raw of [
      { ...V3, apiSecret: new Uint8Array(31).fill(1) },
      { ...V3, apiSecret: new Uint8Array(32) },
      { ...V3, apiSecret: new Uint8Array(32).fill(1) },
      { ...V1, apiSecret: new Uint8Array() },
      { ...V1, apiSecret: new Uint8Array(257).fill(65) },
    ])
      expect(openVenuetwoSession(raw)).toMatchObject({ ok: false, problem: expect.stringContaining("apiSecret") });
  });

  it("is V1 where the key is no address, whatever the secret looks like", () => {
    expect(open({ ...V1, apiSecret: AGENT_KEY }).identity.kind).toBe("v1");
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "venuetwo"],
    ["a list", [], "venuetwo"],
    ["no key", { ...V1, apiKey: undefined }, "apiKey"],
    ["a number for a key", { ...V1, apiKey: 5 }, "apiKey"],
    ["an empty key", { ...V1, apiKey: "" }, "apiKey"],
    ["a key that would break a header", { ...V1, apiKey: "a\r\nX-Evil: 1" }, "apiKey"],
    ["a key too long", { ...V1, apiKey: "a".repeat(257) }, "apiKey"],
    ["no secret", { ...V1, apiSecret: null }, "apiSecret"],
    ["a secret with blanks", { ...V1, apiSecret: "a b" }, "apiSecret"],
    ["a wallet that is no address", { ...V1, walletAddress: "me" }, "walletAddress"],
    ["an agent without its wallet", { ...V3, walletAddress: undefined }, "walletAddress"],
    ["an agent's secret that is no key", { ...V3, apiSecret: "not-a-key" }, "apiSecret"],
    ["an agent's key that is zero", { ...V3, apiSecret: "0".repeat(64) }, "curve"],
    ["another agent's key", { ...V3, apiSecret: "1".repeat(64) }, "not the key of apiKey"],
  ])("refuses %s, naming the field and never the value", (_what, raw, word) => {
    const opened = openVenuetwoSession(raw);
    expect(opened.ok).toBe(false);
    if (opened.ok) return;
    expect(opened.problem).toContain(word);
    for (const secret of [API_KEY, API_SECRET, AGENT_KEY]) expect(opened.problem).not.toContain(secret.slice(0, 12));
  });

  it.each([V1, V3])("shows nothing of itself", (raw) => {
    const session = open(raw);
    const shown = [
      JSON.stringify({ session }),
      inspect(session, { depth: 9, showHidden: true }),
      String(session),
    ].join();
    for (const secret of [API_KEY, API_SECRET, AGENT_KEY])
      expect(shown.toLowerCase()).not.toContain(secret.slice(0, 12));
    expect(JSON.stringify(session)).toBe("{}");
  });

  it("zeroes the secret when closed, and gives it to nobody then", () => {
    const session = open(V3);
    let bytes: Uint8Array = new Uint8Array();
    session.withSecret((secret) => {
      bytes = secret;
    });
    expect(bytes.some((byte) => byte !== 0)).toBe(true);
    session.close();
    session.close();
    expect([...bytes].every((byte) => byte === 0)).toBe(true);
    expect(session.withSecret(() => "used")).toBeNull();
  });
});
