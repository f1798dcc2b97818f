import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { openVenuefourAddress, openVenuefourSession, VenuefourSession } from "./session.js";
import { AGENT, CREDENTIALS, WALLET } from "../test/trading-harness.js";

const CONFIG_KEY = "AbCdEfGh_2mT8xExampleOnly";

function sessionOf(raw: unknown): VenuefourSession {
  const opened = openVenuefourSession(raw);
  if (!opened.ok || !(opened.session instanceof VenuefourSession)) throw new Error("refused");
  return opened.session;
}

describe("sessions", () => {
  it("are of the wallet, whoever signs, and sign until they are closed", () => {
    const session = sessionOf(CREDENTIALS);
    expect(session).toMatchObject({ venue: "venuefour", accountId: WALLET.publicKey, isOpen: true, canSign: true });
    expect(session.withKey((key) => key.publicKey)).toBe(AGENT.publicKey);
    session.close();
    session.close();
    expect(session.withKey((key) => key.publicKey)).toBeNull();
    expect(session).toMatchObject({ isOpen: false, canSign: false, configKey: null });
  });

  it("of an address can be read and sign nothing", () => {
    const opened = openVenuefourAddress(WALLET.publicKey);
    expect(opened.ok && opened.session).toMatchObject({ accountId: WALLET.publicKey, canSign: false, isOpen: true });
    expect(openVenuefourAddress("abc")).toMatchObject({ ok: false });
    expect(openVenuefourAddress(`${WALLET.publicKey} `)).toMatchObject({ ok: false });
  });

  it("share a tag only with equal credentials", () => {
    const address = openVenuefourAddress(WALLET.publicKey);
    const tags = [
      sessionOf(CREDENTIALS).tag,
      sessionOf({ ...CREDENTIALS, apiKey: CONFIG_KEY }).tag,
      sessionOf({ apiKey: WALLET.publicKey, apiSecret: WALLET.secret, walletAddress: WALLET.publicKey }).tag,
      sessionOf({ ...CREDENTIALS, walletAddress: AGENT.publicKey }).tag,
      address.ok && address.session instanceof VenuefourSession ? address.session.tag : "",
    ];
    expect(new Set(tags).size).toBe(tags.length);
    expect(sessionOf(CREDENTIALS).tag).toBe(tags[0]);
  });

  it("print nothing of the keys, in any form", () => {
    const session = sessionOf({ ...CREDENTIALS, apiKey: CONFIG_KEY });
    for (const text of [
      JSON.stringify(session),
      inspect(session, { depth: 9, showHidden: true }),
      `${session.tag} ${session.budgetName}`,
    ])
      for (const secret of [AGENT.secret.slice(0, 12), CONFIG_KEY]) expect(text).not.toContain(secret);
  });

  it("refuse what is none with the name of the field", () => {
    expect(openVenuefourSession(null)).toMatchObject({ ok: false });
    expect(openVenuefourSession({ ...CREDENTIALS, apiSecret: "x" })).toEqual({
      ok: false,
      problem: "venuefour.apiSecret must be an Ed25519 private key in base58",
    });
  });
});
