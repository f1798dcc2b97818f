/** Agents: signatures that other libraries made, rules of the message, rights, and whose they are. */
import { describe, expect, it, onTestFinished } from "vitest";
import { privateKeyToAccount } from "viem/accounts";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { VenuetwoSim } from "../sim.js";
import { ACCOUNT, agentCall, call, form, mainWallet, startTestVenue } from "./support.js";
import { withdrawal } from "./withdrawal.js";

/** Development key 0, and the agent of the vectors. */
const WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const AGENT = "0x21cF8Ae13Bb72632562c6Fff438652Ba1a151bb0";
/** Nonces of the vectors are of this ms. */
const VECTOR_MS = 1_763_600_000_000;
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const SUCCESS = { code: 200, msg: "success" };

/** Derived from the venue's published rule by two independent libraries. */
const REGISTRATION = {
  user: WALLET,
  nonce: "1763600000000015",
  agentName: "svc",
  agentAddress: AGENT,
  expired: "1967945395040",
  signatureChainId: "56",
  canSpotTrade: "false",
  canPerpTrade: "true",
  canWithdraw: "true",
  ipWhitelist: "192.0.2.10 198.51.100.0/24",
  signature:
    "0xecef743432c3f509d76b8be0117e4d7bbed6b8c5e5094edb9c3a07c6dc35ff017cccc0cc7dfffd37eebd69e785b928cb8f0ddfa700d083e54da66d855005b8331c",
};
const APPROVAL = {
  agentName: "svc-agent",
  agentAddress: AGENT,
  ipWhitelist: "",
  expired: "1967945395040",
  canSpotTrade: "false",
  canPerpTrade: "true",
  canWithdraw: "false",
  asterChain: "Mainnet",
  user: WALLET,
  nonce: "1763600000000010",
  signatureChainId: "56",
  signature:
    "0x7d890c21207993e619739cbecdae57a8059da9243aa263ab0cef2b91694aed892f25230563c7710ead58b93c3bbbda1a428019254cf8a14a0f9d0a215ae213cf1c",
};

async function start(nowMs = VECTOR_MS): Promise<VenuetwoSim> {
  const venue = await startTestVenue({ clock: new VirtualClock(nowMs), flow: null });
  onTestFinished(() => venue.stop());
  return venue;
}

async function post(venue: VenuetwoSim, name: string, params: Readonly<Record<string, string>>): Promise<unknown> {
  return (await call(venue, "POST", `/fapi/v3/${name}`, FORM, form(params))).json;
}

const typeOf = (value: string): string =>
  value === "true" || value === "false" ? "bool" : /^\d+$/.test(value) ? "uint256" : "string";
const typedOf = (value: string): string | boolean | bigint =>
  typeOf(value) === "bool" ? value === "true" : typeOf(value) === "uint256" ? BigInt(value) : value;
const upper = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** A management call of the main wallet, its parameters as the fields of the typed data. */
async function managed(
  venue: VenuetwoSim,
  primaryType: string,
  params: Readonly<Record<string, string>>,
  nonce: number,
): Promise<unknown> {
  const entries = Object.entries({ ...params, asterChain: "Mainnet", user: mainWallet.address, nonce: String(nonce) });
  const signature = await mainWallet.signTypedData({
    domain: {
      name: "AsterSignTransaction",
      version: "1",
      chainId: 56,
      verifyingContract: "0x0000000000000000000000000000000000000000",
    },
    types: { [primaryType]: entries.map(([name, value]) => ({ name: upper(name), type: typeOf(value) })) },
    primaryType,
    message: Object.fromEntries(entries.map(([name, value]) => [upper(name), typedOf(value)])),
  });
  return post(venue, primaryType === "ApproveAgent" ? "approveAgent" : "updateAgent", {
    ...Object.fromEntries(entries),
    signatureChainId: "56",
    signature,
  });
}

const fresh = privateKeyToAccount(`0x${"44".repeat(32)}`);
const TERMS = {
  agentName: "t",
  agentAddress: fresh.address,
  ipWhitelist: "",
  expired: String(VECTOR_MS + 60_000),
  canSpotTrade: "true",
  canPerpTrade: "true",
  canWithdraw: "false",
};

describe("agents of the local venuetwo", () => {
  it("are registered by the vector's signature, once, with their wallet", async () => {
    const venue = await start();
    expect(venue.room.keys.knowsWallet(WALLET)).toBe(false);
    expect(await post(venue, "registerAndApproveAgent", REGISTRATION)).toEqual(SUCCESS);
    expect(venue.room.keys.agent(AGENT)).toMatchObject({
      user: WALLET.toLowerCase(),
      name: "svc",
      canPerpTrade: true,
      canSpotTrade: false,
      canWithdraw: true,
      ipWhitelist: "192.0.2.10 198.51.100.0/24",
    });
    expect(await post(venue, "registerAndApproveAgent", REGISTRATION)).toEqual({
      code: -4225,
      msg: "Nonce Duplicated",
    });
    expect(venue.log.records({ action: "registerAgent" }).map(({ refusal }) => refusal?.code ?? null)).toEqual([
      null,
      "-4225",
    ]);
  });

  it.each([
    ["agentAddress", fresh.address],
    ["canWithdraw", "false"],
    ["ipWhitelist", "192.0.2.11"],
    ["signatureChainId", "1666"],
    ["expired", "1967945395041"],
  ])("are not registered by a signature of another %s", async (name, value) => {
    const venue = await start();
    expect(await post(venue, "registerAndApproveAgent", { ...REGISTRATION, [name]: value })).toMatchObject({
      code: -1022,
    });
    expect(venue.room.keys.knowsWallet(WALLET)).toBe(false);
  });

  it("are registered for an account that was funded before, by its address alone", async () => {
    const venue = await start();
    const accountId = WALLET.toLowerCase();
    await call(venue, "POST", "/_sim/accounts", {}, JSON.stringify({ accountId, deposit: "5" }));
    expect(await post(venue, "registerAndApproveAgent", REGISTRATION)).toEqual(SUCCESS);
    expect(venue.room.keys.agent(AGENT)).toMatchObject({ accountId });
  });

  it("are approved by the vector's signature for a wallet that is known, and no other", async () => {
    const venue = await start();
    venue.addAccount({ accountId: "dev", deposit: "1", wallet: WALLET });
    const other = { ...APPROVAL, nonce: "1763600000000011" };
    expect(await post(venue, "approveAgent", other)).toMatchObject({ code: -1022 });
    expect(await post(venue, "approveAgent", APPROVAL)).toEqual(SUCCESS);
    expect(venue.room.keys.agent(AGENT)).toMatchObject({ accountId: "dev", name: "svc-agent", canWithdraw: false });
    expect(await post(venue, "approveAgent", APPROVAL)).toMatchObject({ code: -4225 });
    expect(await post(await start(), "approveAgent", APPROVAL)).toMatchObject({ code: -1000, msg: "No account found" });
  });

  it("come too late, or too early, by more than ten seconds", async () => {
    for (const nowMs of [VECTOR_MS + 10_001, VECTOR_MS - 10_001])
      expect(await post(await start(nowMs), "registerAndApproveAgent", REGISTRATION)).toEqual({
        code: -4225,
        msg: "Nonce Expired",
      });
  });

  it("may withdraw only with a list of addresses", async () => {
    const venue = await start();
    const terms = { ...TERMS, canWithdraw: "true" };
    expect(await managed(venue, "ApproveAgent", terms, 1_763_600_000_000_001)).toMatchObject({ code: -1130 });
    expect(venue.room.keys.agent(fresh.address)).toBeNull();
    const listed = { ...terms, ipWhitelist: "192.0.2.1" };
    expect(await managed(venue, "ApproveAgent", listed, 1_763_600_000_000_002)).toEqual(SUCCESS);
  });

  it("have no end in the past, and none besides it", async () => {
    const venue = await start();
    const late = { ...TERMS, expired: String(VECTOR_MS) };
    expect(await managed(venue, "ApproveAgent", late, 1_763_600_000_000_001)).toMatchObject({ code: -1130 });
  });

  it("trade only by right", async () => {
    const venue = await start();
    const order = { symbol: "BTCUSDT", leverage: 11 };
    const byFresh = { signer: fresh };
    await managed(venue, "ApproveAgent", { ...TERMS, canPerpTrade: "false" }, 1_763_600_000_000_001);
    expect((await agentCall(venue, "POST", "/fapi/v3/leverage", order, byFresh)).json.code).toBe(-2015);
    expect((await agentCall(venue, "GET", "/fapi/v3/balance", {}, byFresh)).status).toBe(200);
    expect(await managed(venue, "UpdateAgent", TERMS, 1_763_600_000_000_002)).toEqual(SUCCESS);
    expect((await agentCall(venue, "POST", "/fapi/v3/leverage", order, byFresh)).status).toBe(200);
  });

  it.each([
    ["127.0.0.1", 200],
    ["192.0.2.1 127.0.0.0/8", 200],
    ["192.0.2.1", 401],
    ["", 401],
  ])("withdraw by right and from the addresses of their list alone: %j", async (ipWhitelist, status) => {
    const venue = await start();
    const rights = { canWithdraw: String(ipWhitelist !== ""), ipWhitelist };
    await managed(venue, "ApproveAgent", { ...TERMS, ...rights }, 1_763_600_000_000_001);
    const walletOf = () => venue.exchange.accounts.find(ACCOUNT)?.walletE12 ?? 0n;
    const before = walletOf();
    const answer = await agentCall(venue, "POST", "/fapi/v3/aster/user-withdraw", await withdrawal(VECTOR_MS), {
      signer: fresh,
    });
    expect(answer.status).toBe(status);
    expect(before - walletOf()).toBe(status === 200 ? 31n * 10n ** 12n : 0n);
    if (status !== 200) expect(answer.json.code).toBe(-2015);
    else expect(answer.json).toMatchObject({ withdrawId: expect.stringMatching(/^\d{19}$/) });
  });

  it("withdraw only what the main wallet signed, to it, and once", async () => {
    const venue = await start();
    const rights = { canWithdraw: "true", ipWhitelist: "127.0.0.1" };
    await managed(venue, "ApproveAgent", { ...TERMS, ...rights }, 1_763_600_000_000_001);
    const ask = async (params: Record<string, string>) =>
      (await agentCall(venue, "POST", "/fapi/v3/aster/user-withdraw", params, { signer: fresh })).json;
    expect(await ask({ ...(await withdrawal(VECTOR_MS)), amount: "31" })).toMatchObject({ code: -1022 });
    expect(await ask(await withdrawal(VECTOR_MS, { receiver: WALLET }))).toMatchObject({ code: -1130 });
    expect(await ask(await withdrawal(VECTOR_MS, { amount: "100001" }))).toMatchObject({ code: -2018 });
    const params = await withdrawal(VECTOR_MS, { userNonce: String(VECTOR_MS * 1_000 + 1) });
    expect(await ask(params)).toMatchObject({ withdrawId: expect.any(String) });
    expect(await ask(params)).toMatchObject({ code: -4225 });
  });

  it("belong to one account", async () => {
    const venue = await start();
    venue.addAccount({ accountId: "dev", deposit: "1", wallet: WALLET, agents: [fresh.address] });
    expect(await managed(venue, "ApproveAgent", TERMS, 1_763_600_000_000_001)).toMatchObject({ code: -1000 });
    expect(await managed(venue, "UpdateAgent", TERMS, 1_763_600_000_000_002)).toMatchObject({ msg: "No agent found" });
    expect(venue.room.keys.agent(fresh.address)?.user).toBe(WALLET.toLowerCase());
  });
});
