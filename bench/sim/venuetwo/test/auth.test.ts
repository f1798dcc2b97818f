/** Signatures, times and nonces: what the venue accepts and the exact form of each refusal. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { privateKeyToAccount } from "viem/accounts";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { VenuetwoSim } from "../sim.js";
import {
  agentCall,
  agentWallet,
  API_KEY,
  call,
  form,
  hmac,
  mainWallet,
  signedCall,
  startTestVenue,
} from "./support.js";

describe("authentication", () => {
  let venue: VenuetwoSim;
  let clock: VirtualClock;

  beforeAll(async () => {
    clock = new VirtualClock();
    venue = await startTestVenue({ clock });
  });

  beforeEach(() => clock.advance(1000));
  afterAll(() => venue.stop());

  const key = { "X-MBX-APIKEY": API_KEY };

  it("accepts HMAC over the query, over the body, and over query plus body as sent", async () => {
    const query = form({ symbol: "BTCUSDT", timestamp: venue.exchange.nowMs() });
    expect(
      (await call(venue, "GET", `/fapi/v2/positionRisk?${query}&signature=${hmac(query).toUpperCase()}`, key)).status,
    ).toBe(200);
    const body = form({ symbol: "BTCUSDT", leverage: 7, timestamp: venue.exchange.nowMs() });
    const formType = { ...key, "content-type": "application/x-www-form-urlencoded" };
    expect((await call(venue, "POST", "/fapi/v1/leverage", formType, `${body}&signature=${hmac(body)}`)).json).toEqual({
      symbol: "BTCUSDT",
      leverage: 7,
      maxNotionalValue: "70000000",
    });
    const mixedQuery = "symbol=BTCUSDT&leverage=8";
    const mixedBody = `leverage=9&timestamp=${venue.exchange.nowMs()}`;
    const mixed = await call(
      venue,
      "POST",
      `/fapi/v1/leverage?${mixedQuery}`,
      formType,
      `${mixedBody}&signature=${hmac(mixedQuery + mixedBody)}`,
    );
    expect(mixed.json).toMatchObject({ leverage: 8 });
  });

  it("refuses a signature over other bytes, in another place, or by another secret, and executes nothing", async () => {
    const query = form({ symbol: "BTCUSDT", leverage: 33, timestamp: venue.exchange.nowMs() });
    const refusal = { code: -1022, msg: "Signature for this request is not valid." };
    const attempts = [
      `${query}&signature=${hmac(`${query}x`)}`,
      `${query}&signature=${hmac(query, "other")}`,
      `signature=${hmac(query)}&${query}`,
      `${query}&signature=zz`,
    ];
    for (const attempt of attempts) {
      const answer = await call(venue, "POST", `/fapi/v1/leverage?${attempt}`, key);
      expect([answer.status, answer.json]).toEqual([400, refusal]);
    }
    expect(venue.exchange.accounts.leverage("trader", "BTCUSDT")).not.toBe(33);
  });

  it("tests the time on both sides of its own clock", async () => {
    const at = async (offsetMs: number, recvWindow?: number): Promise<unknown> => {
      const query = form({
        timestamp: venue.exchange.nowMs() + offsetMs,
        ...(recvWindow === undefined ? {} : { recvWindow }),
      });
      const answer = await call(venue, "GET", `/fapi/v2/balance?${query}&signature=${hmac(query)}`, key);
      return answer.status === 200 ? "ok" : answer.json.code;
    };
    expect(await at(999)).toBe("ok");
    expect(await at(1000)).toBe(-1021);
    expect(await at(-5000)).toBe("ok");
    expect(await at(-5001)).toBe(-1021);
    expect(await at(-9000, 10_000)).toBe("ok");
    expect(await at(0, 60_001)).toBe(-1131);
  });

  it("names missing parameters and bad keys in the venue's words", async () => {
    const unsigned = await call(venue, "GET", "/fapi/v2/balance?timestamp=1", key);
    expect(unsigned.json).toEqual({
      code: -1102,
      msg: "Mandatory parameter 'signature' was not sent, was empty/null, or malformed.",
    });
    expect((await call(venue, "GET", "/fapi/v2/balance", key)).json).toMatchObject({ code: -1102 });
    const noKey = await call(venue, "GET", "/fapi/v2/balance?timestamp=1&signature=0");
    expect([noKey.status, noKey.json]).toEqual([401, { code: -2014, msg: "API-key format invalid." }]);
    const unknown = await call(venue, "POST", "/fapi/v1/listenKey", { "X-MBX-APIKEY": "x".repeat(64) });
    expect([unknown.status, unknown.json.code]).toEqual([401, -2015]);
    const duplicate = await call(venue, "GET", "/fapi/v2/balance?timestamp=1&timestamp=2&signature=0", key);
    expect(duplicate.json.code).toBe(-1101);
  });

  it("accepts an agent's typed-data signature in query and body, with and without `user`", async () => {
    expect((await agentCall(venue, "GET", "/fapi/v3/balance")).status).toBe(200);
    expect(
      (await agentCall(venue, "POST", "/fapi/v3/leverage", { symbol: "BTCUSDT", leverage: 11 })).json,
    ).toMatchObject({ leverage: 11 });
    expect((await agentCall(venue, "GET", "/fapi/v3/balance", {}, { user: null })).status).toBe(200);
    expect((await agentCall(venue, "GET", "/fapi/v3/balance", {}, { signer: mainWallet })).status).toBe(200);
  });

  it("refuses tampered text, unknown agents and another wallet's agent", async () => {
    expect((await agentCall(venue, "GET", "/fapi/v3/balance", {}, { tamper: true })).json.code).toBe(-1022);
    const stranger = privateKeyToAccount(`0x${"33".repeat(32)}`);
    expect((await agentCall(venue, "GET", "/fapi/v3/balance", {}, { signer: stranger })).json).toEqual({
      code: -1000,
      msg: "No agent found",
    });
    expect((await agentCall(venue, "GET", "/fapi/v3/balance", {}, { user: stranger.address })).json.code).toBe(-1000);
  });

  it("keeps nonces within the window, refuses a used one, and forgets all but the newest hundred", async () => {
    const now = BigInt(venue.exchange.nowMs()) * 1000n;
    const attempt = async (nonce: bigint): Promise<unknown> => {
      const answer = await agentCall(venue, "GET", "/fapi/v3/positionSide/dual", {}, { nonce });
      return answer.status === 200 ? "ok" : answer.json;
    };
    expect(await attempt(now + 5n)).toBe("ok");
    expect(await attempt(now + 5n)).toMatchObject({ code: -4225 });
    expect(await attempt(now + 10_000_001n)).toEqual({ code: -4225, msg: "Nonce Expired" });
    expect(await attempt(now - 10_000_001n)).toEqual({ code: -4225, msg: "Nonce Expired" });
    expect(await attempt(now - 9_000_000n)).toBe("ok");
    for (let index = 0; index < 110; index++)
      expect(venue.room.keys.useNonce("list", BigInt(1000 + index))).toBe("new");
    expect(venue.room.keys.useNonce("list", 1009n)).toBe("old");
    expect(venue.room.keys.useNonce("list", 1010n)).toBe("used");
  });

  it("answers HMAC on V3 paths only in the parent dialect", async () => {
    expect((await signedCall(venue, "GET", "/fapi/v3/balance")).json.code).toBe(-1102);
    const parent = await startTestVenue({ clock, hmacOnV3: true });
    expect((await signedCall(parent, "GET", "/fapi/v3/balance")).status).toBe(200);
    await parent.stop();
  });

  it("registers, lists, updates and deletes agents by the main wallet's signature", async () => {
    const fresh = privateKeyToAccount(`0x${"44".repeat(32)}`);
    const management = async (
      method: string,
      path: string,
      primaryType: string,
      params: readonly (readonly [string, string])[],
    ): Promise<unknown> => {
      const nonce = String(
        BigInt(venue.exchange.nowMs()) * 1000n + BigInt(Math.floor(venue.exchange.market.engineSeq() % 1000)),
      );
      const entries: [string, string][] = [
        ...params.map(([name, value]): [string, string] => [name, value]),
        ["asterChain", "Mainnet"],
        ["user", mainWallet.address],
        ["nonce", nonce],
      ];
      const typeOf = (value: string): string =>
        value === "true" || value === "false" ? "bool" : /^\d+$/.test(value) ? "uint256" : "string";
      const upper = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
      const signature = await mainWallet.signTypedData({
        domain: {
          name: "AsterSignTransaction",
          version: "1",
          chainId: 56,
          verifyingContract: "0x0000000000000000000000000000000000000000",
        },
        types: { [primaryType]: entries.map(([name, value]) => ({ name: upper(name), type: typeOf(value) })) },
        primaryType,
        message: Object.fromEntries(
          entries.map(([name, value]) => [
            upper(name),
            typeOf(value) === "bool" ? value === "true" : typeOf(value) === "uint256" ? BigInt(value) : value,
          ]),
        ),
      });
      const body = `${new URLSearchParams(entries).toString()}&signatureChainId=56&signature=${signature}`;
      clock.advance(1);
      return (await call(venue, method, path, { "content-type": "application/x-www-form-urlencoded" }, body)).json;
    };
    const expired = String(venue.exchange.nowMs() + 60_000);
    const terms = [
      ["agentName", "t"],
      ["agentAddress", fresh.address],
      ["ipWhitelist", ""],
      ["expired", expired],
      ["canSpotTrade", "false"],
      ["canPerpTrade", "true"],
      ["canWithdraw", "false"],
    ] as const;
    expect(await management("POST", "/fapi/v3/approveAgent", "ApproveAgent", terms)).toEqual({
      code: 200,
      msg: "success",
    });
    expect((await agentCall(venue, "GET", "/fapi/v3/balance", {}, { signer: fresh })).status).toBe(200);
    const listed = (await agentCall(venue, "GET", "/fapi/v3/agent")).json as unknown as { agentAddress: string }[];
    expect(listed.map((agent) => agent.agentAddress)).toEqual([
      agentWallet.address.toLowerCase(),
      fresh.address.toLowerCase(),
    ]);
    expect(await management("DELETE", "/fapi/v3/agent", "DelAgent", [["agentAddress", fresh.address]])).toEqual({
      code: 200,
      msg: "success",
    });
    expect((await agentCall(venue, "GET", "/fapi/v3/balance", {}, { signer: fresh })).json.msg).toBe("No agent found");
    expect(await management("POST", "/fapi/v3/approveAgent", "WrongType", terms)).toMatchObject({ code: -1022 });
  });
});

describe("limits", () => {
  it("shows the used weight, answers 429 with Retry-After, then bans with 418", async () => {
    const clock = new VirtualClock();
    const venue = await startTestVenue({ clock, limits: { weightPerMinute: 25, refusalsUntilBan: 2 } });
    const first = await call(venue, "GET", "/fapi/v1/depth?symbol=BTCUSDT&limit=1000");
    expect(first.headers.get("x-mbx-used-weight-1m")).toBe("20");
    for (let index = 0; index < 5; index++) await call(venue, "GET", "/fapi/v1/ping");
    const over = await call(venue, "GET", "/fapi/v1/ping");
    expect([over.status, over.json.code]).toEqual([429, -1003]);
    expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
    await call(venue, "GET", "/fapi/v1/ping");
    const banned = await call(venue, "GET", "/fapi/v1/ping");
    expect([banned.status, banned.json.code, banned.headers.get("retry-after")]).toEqual([418, -1003, "120"]);
    clock.advance(61_000);
    expect((await call(venue, "GET", "/fapi/v1/ping")).status).toBe(418);
    clock.advance(60_000);
    expect((await call(venue, "GET", "/fapi/v1/ping")).status).toBe(200);
    await venue.stop();
  });

  it("counts orders per account in headers and refuses the next with -1015 and no Retry-After", async () => {
    const venue = await startTestVenue({ clock: new VirtualClock(), limits: { ordersPer10s: 2 } });
    const place = (): ReturnType<typeof signedCall> =>
      signedCall(venue, "POST", "/fapi/v1/order", {
        symbol: "BTCUSDT",
        side: "BUY",
        type: "MARKET",
        quantity: "0.001",
      });
    const first = await place();
    expect([first.headers.get("x-mbx-order-count-10s"), first.headers.get("x-mbx-order-count-1m")]).toEqual(["1", "1"]);
    await place();
    const third = await place();
    expect([third.status, third.json.code, third.headers.get("retry-after")]).toEqual([429, -1015, null]);
    expect(venue.log.records({ action: "place" })[2]?.refusal?.code).toBe("-1015");
    await venue.stop();
  });
});
