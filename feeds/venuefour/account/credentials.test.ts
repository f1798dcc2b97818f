import { describe, expect, it } from "vitest";
import { readCredentials } from "./credentials.js";
import { readFixture } from "../fixtures/load.js";
import { readPrivateKey } from "../sign/sign.js";

const SECRET =
  (JSON.parse(readFixture("trading/vectors.json")) as readonly { id: string; privateKey: string }[]).find(
    ({ id }) => id === "key-seed-only-agent-1",
  )?.privateKey ?? "";
const AGENT = readPrivateKey(SECRET)?.key.publicKey ?? "";
const WALLET = "7UFCQ75ycDEQjFX5M6rERTF27dnfe2gYzkhiuHW9MybD";
const CONFIG = "AbCdEfGh_2mT8xExampleOnly";
const GOOD = { apiKey: AGENT, apiSecret: SECRET, walletAddress: WALLET };

describe("credentials", () => {
  it("of an agent act for the wallet", () => {
    const read = readCredentials(GOOD);
    expect(read).toMatchObject({ ok: true, credentials: { account: WALLET, configKey: null } });
    expect(read.ok && read.credentials.key.publicKey).toBe(AGENT);
  });

  it("with a config key sign with the secret's own key and carry the other along", () => {
    const read = readCredentials({ ...GOOD, apiKey: CONFIG });
    expect(read).toMatchObject({ ok: true, credentials: { account: WALLET, configKey: CONFIG } });
    expect(read.ok && read.credentials.key.publicKey).toBe(AGENT);
  });

  it("of the wallet itself need no agent", () => {
    expect(readCredentials({ ...GOOD, apiKey: AGENT, walletAddress: AGENT })).toMatchObject({
      ok: true,
      credentials: { account: AGENT },
    });
  });

  it.each([
    [null, "credentials"],
    [[], "credentials"],
    [{ ...GOOD, walletAddress: undefined }, "walletAddress"],
    [{ ...GOOD, walletAddress: ` ${WALLET}` }, "walletAddress"],
    [{ ...GOOD, walletAddress: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266" }, "walletAddress"],
    [{ ...GOOD, apiSecret: "" }, "apiSecret"],
    [{ ...GOOD, apiSecret: `${SECRET}0` }, "apiSecret"],
    [{ ...GOOD, apiSecret: 5 }, "apiSecret"],
    [{ ...GOOD, apiKey: "" }, "apiKey"],
    [{ ...GOOD, apiKey: "a b" }, "apiKey"],
    [{ ...GOOD, apiKey: "a_\r\nx: y" }, "apiKey"],
    [{ ...GOOD, apiKey: WALLET }, "apiKey"],
    [{ ...GOOD, apiKey: WALLET, walletAddress: WALLET }, "apiKey"],
  ])("that do not fit are refused by the name of the field (%#)", (raw, field) => {
    const read = readCredentials(raw);
    expect(read.ok).toBe(false);
    if (read.ok) return;
    expect(read.problem).toContain(field);
    expect(read.problem).not.toContain(SECRET.slice(0, 8));
    expect(read.problem).not.toContain(WALLET.slice(0, 8));
  });
});
