/** Transactions that change keys, integrators, sub-accounts and balances: who may, and what follows. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { get } from "./support.js";
import { OWNER, publicHex, startTraders, testKey, type Trader, type TraderVenue } from "./trader.js";

describe("transactions about the account itself", () => {
  let bench: TraderVenue;
  let trader: Trader;
  beforeEach(async () => {
    bench = await startTraders({}, { l1Address: OWNER.address });
    ({ trader } = bench);
  });
  afterEach(() => bench.venue.stop());

  const resting = (): ReturnType<Trader["order"]> => trader.order({ tif: 2, price: trader.touch("BUY") - 9_000 });

  it("changes a key when its owner signed for the new one, which ends the old one and its tokens", async () => {
    const fresh = testKey(11);
    const token = trader.token();
    expect((await trader.read("accountLimits?account_index=65", token)).status).toBe(200);
    const publicKey = publicHex(fresh);
    const hex16 = (value: number): string => `0x${value.toString(16).padStart(16, "0")}`;
    const message = `Register Lighter Account\n\npubkey: 0x${publicKey}\nnonce: ${hex16(1)}\naccount index: ${hex16(65)}\napi key index: ${hex16(5)}\nOnly sign this message for a trusted client!`;
    const fields = {
      PubKey: Buffer.from(publicKey, "hex").toString("base64"),
      L1Sig: await OWNER.signMessage({ message }),
    };
    const unsigned = trader.sign(8, { ...fields, L1Sig: `0x${"11".repeat(65)}` }, null, fresh).text;
    expect((await trader.post("sendTx", { tx_type: "8", tx_info: unsigned })).json.code).toBe(21504);
    const byOldKey = trader.sign(8, fields).text;
    expect((await trader.post("sendTx", { tx_type: "8", tx_info: byOldKey })).json.code).toBe(21120);
    const change = trader.sign(8, fields, null, fresh).text;
    expect((await trader.post("sendTx", { tx_type: "8", tx_info: change })).status).toBe(200);
    trader.settle();
    trader.nonce++;
    expect((await trader.send(14, resting())).json.code).toBe(21120);
    expect((await trader.read("accountLimits?account_index=65", token)).json.code).toBe(20013);
    const byNewKey = trader.sign(14, resting(), null, fresh).text;
    expect((await trader.post("sendTx", { tx_type: "14", tx_info: byNewKey })).status).toBe(200);
  });

  it("knows integrators that the owner approved, up to their fees", async () => {
    const attributes = new Map([
      [1, 77],
      [2, 100],
    ]);
    expect((await trader.send(14, resting(), attributes)).json.code).toBe(21149);
    const expiry = bench.clock.wallMs() + 86_400_000;
    const hex16 = (value: number): string => `0x${value.toString(16).padStart(16, "0")}`;
    const message = [
      "Approve Integrator",
      "",
      `nonce: ${hex16(1)}`,
      `account index: ${hex16(65)}`,
      `api key index: ${hex16(5)}`,
      `integrator account index: ${hex16(77)}`,
      `max perps taker fee: ${hex16(100)}`,
      `max perps maker fee: ${hex16(0)}`,
      `max spot taker fee: ${hex16(0)}`,
      `max spot maker fee: ${hex16(0)}`,
      `approval expiry: ${hex16(expiry)}`,
      `chainId: ${hex16(304)}`,
      "Only sign this message for a trusted client!",
    ].join("\n");
    const approval = {
      IntegratorAccountIndex: 77,
      MaxPerpsTakerFee: 100,
      MaxPerpsMakerFee: 0,
      MaxSpotTakerFee: 0,
      MaxSpotMakerFee: 0,
      ApprovalExpiry: expiry,
      L1Sig: await OWNER.signMessage({ message }),
    };
    expect((await trader.send(45, approval)).status).toBe(200);
    trader.settle();
    expect((await trader.send(14, resting(), attributes)).status).toBe(200);
    expect(
      (
        await trader.send(
          14,
          resting(),
          new Map([
            [1, 77],
            [2, 101],
          ]),
        )
      ).json.code,
    ).toBe(21149);
    expect((await trader.send(14, resting(), new Map([[2, 1]]))).json.code).toBe(21134);
  });

  it("opens sub-accounts counted down from the top, and moves money between accounts of one owner", async () => {
    await trader.send(9, {});
    trader.settle();
    const { json } = await get(bench.venue, `/api/v1/accountsByL1Address?l1_address=${OWNER.address}`);
    const accounts = json.sub_accounts as { index: number; account_type: number }[];
    expect(accounts.map(({ index, account_type }) => [index, account_type])).toEqual([
      [65, 0],
      [281_474_976_710_654, 1],
    ]);
    const transfer = {
      ToAccountIndex: 281_474_976_710_654,
      AssetIndex: 3,
      FromRouteType: 0,
      ToRouteType: 0,
      Amount: 250_000_000,
      USDCFee: 0,
      Memo: Array.from({ length: 32 }, () => 0),
      L1Sig: "",
    };
    await trader.send(12, transfer);
    expect((await trader.send(12, { ...transfer, ToAccountIndex: 66 })).json.code).toBe(21504);
    trader.settle();
    const sub = await get(bench.venue, "/api/v1/account?by=index&value=281474976710654");
    expect((sub.json.accounts as { collateral: string }[])[0]?.collateral).toBe("250.000000");
    await trader.send(13, { AssetIndex: 3, RouteType: 0, Amount: 1_000_000 });
    trader.settle();
    const own = await get(bench.venue, "/api/v1/account?by=index&value=65");
    expect((own.json.accounts as { collateral: string }[])[0]?.collateral).toBe("999749.000000");
  });
});
