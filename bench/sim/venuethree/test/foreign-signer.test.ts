/**
 * The official signing code, compiled to WebAssembly in the package lighter-ts-sdk, signs for the local venue: hashes
 * and signatures that no code of this project made.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startVenuethreeSim, type VenuethreeSim } from "../sim.js";
import { ADDRESS, postForm, publicHex, testKey } from "./trader.js";

const require = createRequire(import.meta.url);
const folder = dirname(require.resolve("lighter-ts-sdk/package.json"));

interface ForeignSigner {
  initialize(): Promise<void>;
  createClient(params: object): Promise<void>;
  signCreateOrder(params: object): Promise<{ txInfo?: string; error?: string } | string>;
  signCancelAllOrders(params: object): Promise<{ txInfo?: string; error?: string } | string>;
  signUpdateLeverage(params: object): Promise<{ txInfo?: string; error?: string } | string>;
  createAuthToken(deadlineS: number): Promise<string>;
}

describe("the official signer", () => {
  let venue: VenuethreeSim;
  let signer: ForeignSigner;

  beforeAll(async () => {
    venue = await startVenuethreeSim({
      seed: 3,
      symbols: ["BTC"],
      limits: { readsPerMinute: 1_000, makerDelayMs: 1, takerDelayMs: 1 },
      accounts: [
        {
          accountIndex: 65,
          l1Address: ADDRESS,
          deposit: "100000",
          apiKeys: [{ apiKeyIndex: 5, publicKey: publicHex(testKey(3)) }],
        },
      ],
    });
    const { NodeWasmSignerClient } = require(join(folder, "dist", "utils", "node-wasm-signer.js")) as {
      NodeWasmSignerClient: new (config: object) => ForeignSigner;
    };
    signer = new NodeWasmSignerClient({
      wasmPath: join(folder, "wasm", "lighter-signer.wasm"),
      wasmExecPath: join(folder, "wasm", "wasm_exec.js"),
    });
    // The package logs while it loads.
    const quiet = vi.spyOn(console, "log").mockImplementation(() => undefined);
    await signer.initialize();
    quiet.mockRestore();
    await signer.createClient({
      url: venue.restUrl,
      privateKey: Buffer.from(testKey(3)).toString("hex"),
      accountIndex: 65,
      apiKeyIndex: 5,
      chainId: 304,
    });
  });

  afterAll(() => venue.stop());

  const send = async (type: number, signed: { txInfo?: string; error?: string } | string): Promise<unknown> => {
    const text = typeof signed === "string" ? signed : String(signed.txInfo);
    return (await postForm(venue, "sendTx", { tx_type: String(type), tx_info: text })).json;
  };

  it("places orders, changes leverage and cancels, each accepted by its real signature", async () => {
    const ask = venue.exchange.market.bestAsk("BTC")?.priceTicks ?? 0;
    const order = {
      marketIndex: 1,
      clientOrderIndex: 9,
      baseAmount: 1_000,
      price: ask + 10_000,
      isAsk: 0,
      orderType: 1,
      timeInForce: 0,
      reduceOnly: 0,
      triggerPrice: 0,
      orderExpiry: 0,
    };
    expect(await send(14, await signer.signCreateOrder({ ...order, nonce: 1 }))).toMatchObject({ code: 200 });
    const resting = {
      ...order,
      clientOrderIndex: 10,
      orderType: 0,
      timeInForce: 1,
      orderExpiry: Date.now() + 86_400_000,
      price: ask - 9_000,
    };
    expect(await send(14, await signer.signCreateOrder({ ...resting, nonce: 2 }))).toMatchObject({ code: 200 });
    const leverage = { marketIndex: 1, fraction: 1_000, marginMode: 0, nonce: 3 };
    expect(await send(20, await signer.signUpdateLeverage(leverage))).toMatchObject({ code: 200 });
    const cancel = { timeInForce: 0, time: 0, nonce: 4 };
    expect(await send(16, await signer.signCancelAllOrders(cancel))).toMatchObject({ code: 200 });
    expect(await send(16, await signer.signCancelAllOrders(cancel))).toMatchObject({ code: 21104 });
  });

  it("makes tokens that open private reads", async () => {
    const token = await signer.createAuthToken(Math.floor(Date.now() / 1000) + 3_600);
    const url = `${venue.restUrl}/api/v1/accountInactiveOrders?account_index=65&limit=5`;
    const read = async (): Promise<readonly { client_order_id: string; status: string }[]> => {
      const response = await fetch(url, { headers: { authorization: token } });
      expect(response.status).toBe(200);
      return ((await response.json()) as { orders: { client_order_id: string; status: string }[] }).orders;
    };
    let orders = await read();
    while (orders.length < 2) orders = await read();
    expect(orders.find((row) => row.client_order_id === "9")?.status).toBe("filled");
    expect(orders.find((row) => row.client_order_id === "10")?.status).toBe("canceled");
  });
});
