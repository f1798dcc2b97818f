/** The web gateway: nonces, logins and keys, and the words of each refusal. */
import { describe, expect, it, onTestFinished } from "vitest";
import { privateKeyToAccount } from "viem/accounts";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { call, form, hmac, mainWallet, startTestVenue } from "./support.js";

const newcomer = privateKeyToAccount(`0x${"55".repeat(32)}`);
type Wallet = typeof newcomer;

interface Envelope {
  readonly code: string;
  readonly success: boolean;
  readonly data: Readonly<Record<string, string>> | null;
}

async function scene() {
  const clock = new VirtualClock();
  const venue = await startTestVenue({ clock, flow: null });
  onTestFinished(() => venue.stop());
  const ask = async (name: string, body: object): Promise<Envelope> => {
    const path = `/bapi/futures/v1/public/future/web3/${name}`;
    const answer = await call(venue, "POST", path, { "content-type": "application/json" }, JSON.stringify(body));
    expect(answer.status).toBe(200);
    return answer.json as unknown as Envelope;
  };
  /** A signature of the text with a nonce that is out for this. */
  const signed = async (wallet: Wallet, type: string, by = wallet): Promise<string> => {
    const { data } = await ask("get-nonce", { sourceAddr: wallet.address, type });
    return by.signMessage({ message: `You are signing into Astherus ${data?.["nonce"] ?? ""}` });
  };
  const key = (wallet: Wallet, signature: string, changes: object = {}) => ({
    desc: "mine",
    ip: "",
    network: "56",
    signature,
    sourceAddr: wallet.address,
    type: "CREATE_API_KEY",
    sourceCode: "ae",
    ...changes,
  });
  const create = async (wallet: Wallet, changes: object = {}) =>
    ask("broker-create-api-key", key(wallet, await signed(wallet, "CREATE_API_KEY"), changes));
  return { venue, clock, ask, signed, key, create };
}

describe("the web gateway of the local venuetwo", () => {
  it("makes a key of a wallet that the venue knows, and the key signs requests", async () => {
    const { create, venue } = await scene();
    const { code, data, success } = await create(mainWallet);
    expect([code, success]).toEqual(["000000", true]);
    expect(data).toMatchObject({
      apiKey: expect.stringMatching(/^[0-9a-f]{64}$/),
      apiSecret: expect.stringMatching(/^[0-9a-f]{64}$/),
      apiName: "mine",
    });
    const query = form({ timestamp: venue.exchange.nowMs() });
    const headers = { "X-MBX-APIKEY": data?.["apiKey"] ?? "" };
    const path = `/fapi/v2/balance?${query}&signature=${hmac(query, data?.["apiSecret"] ?? "")}`;
    expect((await call(venue, "GET", path, headers)).status).toBe(200);
  });

  it("gives a wallet that the venue never saw its account at the login, and a key only then", async () => {
    const { ask, create, signed, venue } = await scene();
    expect(await create(newcomer)).toMatchObject({ code: "40000005", success: false, data: null });
    const signature = await signed(newcomer, "LOGIN");
    const body = { signature, sourceAddr: newcomer.address, chainId: 56 };
    expect(await ask("ae/login", body)).toMatchObject({ code: "000000", data: { uid: expect.any(String) } });
    expect(venue.exchange.accounts.find(newcomer.address.toLowerCase())).not.toBeNull();
    expect(await create(newcomer)).toMatchObject({ code: "000000" });
  });

  it("takes a nonce once, for its purpose, within its life, from who it is for", async () => {
    const { ask, clock, key, signed } = await scene();
    const over = { code: "099008", success: false };
    const signature = await signed(mainWallet, "CREATE_API_KEY");
    expect(await ask("broker-create-api-key", key(mainWallet, signature))).toMatchObject({ code: "000000" });
    expect(await ask("broker-create-api-key", key(mainWallet, signature, { desc: "again" }))).toMatchObject(over);
    const login = await signed(mainWallet, "LOGIN");
    expect(await ask("broker-create-api-key", key(mainWallet, login, { desc: "other" }))).toMatchObject(over);
    const late = await signed(mainWallet, "CREATE_API_KEY");
    clock.advance(5 * 60_000);
    expect(await ask("broker-create-api-key", key(mainWallet, late, { desc: "late" }))).toMatchObject(over);
    const forged = await signed(mainWallet, "CREATE_API_KEY", newcomer);
    expect(await ask("broker-create-api-key", key(mainWallet, forged))).toMatchObject({ code: "099007" });
  });

  it("refuses a name in use, another source, and bodies that are none", async () => {
    const { ask, create } = await scene();
    expect(await create(mainWallet)).toMatchObject({ code: "000000" });
    expect(await create(mainWallet)).toMatchObject({ code: "40000012" });
    expect(await create(mainWallet, { desc: "x", sourceCode: "bk" })).toMatchObject({ code: "40000005" });
    expect(await create(mainWallet, { desc: "" })).toMatchObject({ code: "000002" });
    expect(await ask("get-nonce", { sourceAddr: "me", type: "LOGIN" })).toMatchObject({ code: "000002" });
    expect(await ask("get-nonce", { sourceAddr: mainWallet.address, type: "OTHER" })).toMatchObject({ code: "000002" });
    expect(await ask("get-nonce", [])).toMatchObject({ code: "000002" });
  });

  it("makes none while creation is closed", async () => {
    const { create, venue } = await scene();
    await call(venue, "POST", "/_sim/keyCreation", {}, JSON.stringify({ isClosed: true }));
    expect(await create(mainWallet)).toMatchObject({ code: "40000099", success: false });
    expect(venue.log.records({ action: "createKey" })).toMatchObject([{ refusal: { code: "40000099" } }]);
  });
});
