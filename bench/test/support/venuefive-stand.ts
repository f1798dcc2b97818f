/**
 * venuefive through the whole service: the gateway as a process, two other local venues with a position each, the local
 * chain behind an endpoint that a test can break, and a trader who uses the client of the project.
 *
 * A block comes with each transaction and at `mine` alone, so what is shown at the newest block is compared with the
 * contracts' storage at the same.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RpcProxy } from "../../../feeds/venuefive/test/rpc-proxy.js";
import { TestClient, type Json } from "../../../gateway/test/client.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { type Stand, startStand } from "../venuefive-client/stand.js";
import { GatewayBench, type GatewayProcess } from "./gateway-process.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "./local-pair.js";
import { found } from "./system.js";

export const FIVE = "/api/trading/venuefive";
/** The venue asks for some with each change of a position; what is in them nobody reads here. */
const ORACLE = { getPriceUpdate: async () => ({ priceUpdateData: ["0xcafe"], priceSourcing: 1 }) as const };
/** An event is indexed once a block is on top of its own. */
export const SAFE_LAG_BLOCKS = 1;

export interface Row {
  readonly [field: string]: Json;
}

export class VenuefiveStand {
  readonly world: VenuefiveWorld;
  readonly pair: LocalPair;
  /** Holds a position on each of the other venues. */
  readonly other: Trader;
  readonly proxy: RpcProxy;
  /** Another endpoint of the same chain; a service reads it where its settings name it. */
  readonly second: RpcProxy;
  readonly dataDir = join(mkdtempSync(join(tmpdir(), "unwind-venuefive-data-")), "data");
  readonly #gateways: GatewayBench;
  #gateway: GatewayProcess | null = null;
  #client: TestClient | null = null;

  /** Use `startVenuefiveStand`. */
  constructor(world: VenuefiveWorld, pair: LocalPair, [proxy, second]: readonly [RpcProxy, RpcProxy]) {
    [this.world, this.pair, this.proxy, this.second] = [world, pair, proxy, second];
    this.other = pair.addTrader("venuefive-other", { positions: { BTC: "0.5" } });
    this.#gateways = new GatewayBench();
  }

  get client(): TestClient {
    if (this.#client === null) throw new Error("the service does not run");
    return this.#client;
  }

  get gateway(): GatewayProcess {
    if (this.#gateway === null) throw new Error("the service does not run");
    return this.#gateway;
  }

  get port(): number {
    return Number(new URL(this.gateway.url).port);
  }

  async serve(dataDir = this.dataDir, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const { Trading, TradingStorage, PairStorage, Multicall, Usdc } = this.world.addresses;
    this.#gateway = await this.#gateways.start(this.pair, dataDir, {
      ...{ VENUEFIVE_RPC_URLS: this.proxy.url, VENUEFIVE_TRADING_ADDRESS: Trading, VENUEFIVE_USDC_ADDRESS: Usdc },
      ...{ VENUEFIVE_TRADING_STORAGE_ADDRESS: TradingStorage, VENUEFIVE_PAIR_STORAGE_ADDRESS: PairStorage },
      ...{ VENUEFIVE_MULTICALL_ADDRESS: Multicall, VENUEFIVE_FROM_BLOCK: "1", VENUEFIVE_POLL_MS: "100" },
      ...{ VENUEFIVE_PAIRS_CHECK_BLOCKS: "1", VENUEFIVE_CALLS_PER_MINUTE: "1000000", ...settings },
    });
    this.#client = new TestClient(this.#gateway.url);
  }

  /** `SIGKILL`: in the middle of whatever it does. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.#client?.stop();
    this.#gateway?.child.kill(signal);
    await this.#gateway?.gone;
    this.#gateway = null;
    this.#client = null;
  }

  trader(): Promise<Stand> {
    return startStand(this.world, ORACLE);
  }

  async tip(): Promise<number> {
    return Number(await this.world.chain.rpc("eth_blockNumber"));
  }

  /** The body of a 200; throws what came instead. */
  async get(path: string): Promise<Row> {
    const { status, body } = await this.client.get(path);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
    return body as Row;
  }

  /** Once it is read at the newest block. */
  positions(address: string): Promise<readonly Row[]> {
    return this.#atTip(`${FIVE}/positions/${address}`, (body) => body["block"], "positions");
  }

  orders(address: string): Promise<readonly Row[]> {
    return this.#atTip(`${FIVE}/orders?walletAddress=${address}`, (body) => dataOf(body)["block"], "orders");
  }

  async balances(address: string): Promise<Row> {
    const path = `${FIVE}/balances?walletAddress=${address}`;
    const tip = await this.tip();
    return found("balances of the newest block", async () => {
      const data = dataOf(await this.get(path));
      return Number(data["block"]) >= tip ? data : null;
    });
  }

  /** Rows of a history that has all that happened so far. */
  async history(kind: "trades" | "orders", address: string): Promise<readonly Row[]> {
    await this.indexed();
    return dataOf(await this.get(`${FIVE}/history/${kind}?walletAddress=${address}&limit=1000`))[kind] as Row[];
  }

  async status(orderId: string, address: string | null): Promise<Row> {
    const query = address === null ? "" : `?walletAddress=${address}`;
    return dataOf(await this.get(`${FIVE}/orders/${orderId}/status${query}`));
  }

  /** Positions of all venues, with the credentials of the other trader. */
  async all(address: string): Promise<{ readonly status: number; readonly body: Json }> {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ credentials: credentialsOf(this.other) });
    return this.client.send(`/api/trading/positions/all/${address}`, { headers, body });
  }

  /** What the room says of itself. */
  async room(): Promise<Row> {
    const { clientSigned } = (await this.get("/api/status"))["data"] as { clientSigned: Row };
    return clientSigned;
  }

  /** Puts a block on top, and waits until every event below is in the index. */
  async indexed(): Promise<Row> {
    await this.world.chain.mine(SAFE_LAG_BLOCKS);
    const safe = (await this.tip()) - SAFE_LAG_BLOCKS;
    let last: Row = {};
    return found(
      () => `events to block ${safe}: ${JSON.stringify(last)}`,
      async () => {
        last = (await this.room())["index"] as Row;
        return Number(last["cursorBlock"]) >= safe && last["problem"] === null ? last : null;
      },
    );
  }

  async stop(): Promise<void> {
    await this.end("SIGKILL");
    this.#gateways.dispose();
    this.proxy.stop();
    this.second.stop();
    await Promise.all([this.world.stop(), this.pair.stop()]);
    rmSync(dirname(this.dataDir), { recursive: true, force: true });
  }

  async #atTip(path: string, blockOf: (body: Row) => unknown, kind: string): Promise<readonly Row[]> {
    const tip = await this.tip();
    return found(`${path} of block ${tip}`, async () => {
      const body = await this.get(path);
      if (Number(blockOf(body)) < tip) return null;
      return (body[kind] ?? dataOf(body)[kind]) as readonly Row[];
    });
  }
}

export function dataOf(body: Row): Row {
  return body["data"] as unknown as Row;
}

export async function startVenuefiveStand(
  seed: number,
  settings: (stand: VenuefiveStand) => Readonly<Record<string, string>> = () => ({}),
): Promise<VenuefiveStand> {
  const world = await startVenuefive({ rolloverFeePerBlock: 0n, safeLagBlocks: SAFE_LAG_BLOCKS });
  const proxies = [await new RpcProxy(world.rpcUrl).listen(), await new RpcProxy(world.rpcUrl).listen()] as const;
  const pair = await startLocalPair({ seed });
  const stand = new VenuefiveStand(world, pair, proxies);
  await stand.serve(stand.dataDir, settings(stand));
  return stand;
}
