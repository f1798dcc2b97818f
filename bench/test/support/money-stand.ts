/**
 * Money of server wallets with everything real: the service and its co-signer as processes that may be killed, chains and
 * local venues that outlast them, and a proxy before each of those, so that a test stops a request where it wants.
 *
 * Blocks come by a clockwork that a test may stop chain by chain: then what waits in a pool stays there.
 */
import { encodeFunctionData, type Hex } from "viem";
import { minedReceipt } from "../../sim/chain/chain-rpc.js";
import { CONTRACTS } from "../../sim/chain/contracts/artifacts.js";
import type { LocalChain } from "../../sim/chain/local-chain.js";
import { WORLD, WORLD_CHAIN_IDS, type WorldChainId, worldToken } from "../../sim/chain/world-plan.js";
import { type ChainWorld, startChainWorld } from "../../sim/chain/world.js";
import {
  CustodyBench,
  type CustodyPlace,
  madeWallet,
  onceServed,
  type WalletCaller,
  type WalletFields,
} from "./custody-bench.js";
import { AMPLE_BUDGETS } from "./gateway-process.js";
import { HeldLink } from "./held-link.js";
import { HoldingProxy } from "./holding-proxy.js";
import { type LocalPair, PAIR_VENUES, type PairVenue, startLocalPair } from "./local-pair.js";
import type { MadeKey, ServeProcess } from "./serve-bench.js";
import { pause } from "./system.js";

/** Where the policy lets a withdrawal from venueone go besides the wallet itself, and where not. */
export const ALLOWED = "0x00000000000000000000000000000000000000aa";
export const NOT_ALLOWED = "0x00000000000000000000000000000000000000dd";
const CONFIRMATIONS = 3;
const SCOPES = ["read", "sign", "trade", "transfer", "admin"];
/** Less than any deposit, so that it has to be changed. */
const OLD_ALLOWANCE = 5n;
const BLOCK_MS = 200;
/** In each account of a borrowed wallet. */
const PLENTY = "100000";
const A_LOT = "1000000000000000000000000";
const COIN = "1000000000000000000";
const bridge = WORLD[42161].bridge as Hex;

/** What docs/transfers.md says that a policy needs: the vault on each chain, the bridge, and withdrawals. */
const POLICY = {
  format: 1,
  callers: { messages: ["text"] },
  service: {
    chains: WORLD_CHAIN_IDS.map((chainId) => ({ chainId, perDay: `1000${COIN.slice(1)}` })),
    tokens: [
      ...WORLD_CHAIN_IDS.map((chainId) => ({
        ...{ chainId, token: worldToken(chainId, "USDT").address, methods: ["approve"] },
        ...{ destinations: [WORLD[chainId].vault], perDay: A_LOT },
      })),
      {
        ...{ chainId: 42161, token: worldToken(42161, "USDC").address, methods: ["transfer"] },
        ...{ destinations: [bridge], perDay: A_LOT },
      },
    ],
    contracts: WORLD_CHAIN_IDS.map((chainId) => ({
      chainId,
      contract: WORLD[chainId].vault,
      methods: [
        {
          signature: "deposit(address,uint256,uint256)",
          fixed: [{ argument: 0, value: worldToken(chainId, "USDT").address }],
          amount: { argument: 1, token: worldToken(chainId, "USDT").address, perDay: A_LOT },
          free: [2],
        },
      ],
    })),
    venues: [
      { act: "venueone.approveAgent" },
      { act: "venueone.withdraw", token: "USDC", destinations: ["self", ALLOWED], perDay: "1000000" },
      { act: "venuetwo.agentThatWithdraws" },
      { act: "venuetwo.withdraw", token: "USDT", destinations: ["self"], perDay: "1000000" },
    ],
  },
};

interface Proxies {
  readonly venueone: HoldingProxy;
  readonly venuetwo: HoldingProxy;
  /** By chain id. */
  readonly chains: ReadonlyMap<WorldChainId, HoldingProxy>;
}

export class MoneyStand {
  readonly world: ChainWorld;
  readonly pair: LocalPair;
  readonly bench: CustodyBench;
  readonly proxies: Proxies;
  readonly blocks: ReadonlyMap<WorldChainId, Blocks>;
  readonly #links: HeldLink[] = [];

  private constructor(world: ChainWorld, pair: LocalPair, proxies: Proxies) {
    this.world = world;
    this.pair = pair;
    this.bench = new CustodyBench(pair);
    this.proxies = proxies;
    this.blocks = new Map(WORLD_CHAIN_IDS.map((chainId) => [chainId, new Blocks(world.chain(chainId))]));
  }

  static async start(seed: number): Promise<MoneyStand> {
    const world = await startChainWorld({ mining: { kind: "manual" } });
    const { rpcUrls } = world;
    const pair = await startLocalPair({ seed, symbols: ["BTC"], chains: { rpcUrls, confirmations: 2 } });
    const chains = await Promise.all(
      WORLD_CHAIN_IDS.map(async (id) => [id, await HoldingProxy.start(world.chain(id).rpcUrl)] as const),
    );
    const [venueone, venuetwo] = await Promise.all(PAIR_VENUES.map((venue) => HoldingProxy.start(pair[venue].restUrl)));
    if (venueone === undefined || venuetwo === undefined) throw new Error("no proxies");
    return new MoneyStand(world, pair, { venueone, venuetwo, chains: new Map(chains) });
  }

  proxy(of: WorldChainId | PairVenue): HoldingProxy {
    const found = typeof of === "string" ? this.proxies[of] : this.proxies.chains.get(of);
    if (found === undefined) throw new RangeError(`no proxy before ${of}`);
    return found;
  }

  get allProxies(): readonly HoldingProxy[] {
    return [this.proxies.venueone, this.proxies.venuetwo, ...this.proxies.chains.values()];
  }

  blocksOf(chainId: WorldChainId): Blocks {
    const found = this.blocks.get(chainId);
    if (found === undefined) throw new RangeError(`no chain ${chainId}`);
    return found;
  }

  /** Nothing is held, refused or stopped any more; what is parked never arrives. */
  async clear(): Promise<void> {
    for (const proxy of this.allProxies) proxy.clear();
    this.holdPayouts("venueone", false);
    this.holdPayouts("venuetwo", false);
    for (const blocks of this.blocks.values()) blocks.resume();
  }

  /** Whether what the venue took waits before it is paid. */
  holdPayouts(venue: PairVenue, isHolding: boolean): void {
    if (venue === "venueone") this.pair.venueone.room.bridge?.hold(isHolding);
    else this.pair.venuetwo.room.money.change({ hold: isHolding });
  }

  /** As an earlier program left it: of the vault, sent with the wallet's key from elsewhere. */
  async leaveAllowance(chainId: WorldChainId, from: Hex): Promise<void> {
    const { rpc } = this.world.chain(chainId);
    const { address: to, contract } = worldToken(chainId, "USDT");
    const args = [WORLD[chainId].vault, OLD_ALLOWANCE];
    const data = encodeFunctionData({ abi: CONTRACTS[contract].abi, functionName: "approve", args });
    await rpc("anvil_impersonateAccount", [from]);
    await minedReceipt(rpc, (await rpc("eth_sendTransaction", [{ from, to, data }])) as Hex);
    await rpc("anvil_stopImpersonatingAccount", [from]);
  }

  place(name: string, changes: Readonly<Record<string, string>> = {}): CustodyPlace {
    return this.bench.place(name, { ...this.#environment(), ...changes }, POLICY);
  }

  /** The service with a co-signer of its own operator, and a caller. */
  async begin(name: string, changes: Readonly<Record<string, string>> = {}): Promise<CosignedService> {
    const place = this.place(name, changes);
    const cosigner = await this.bench.cosignerProcess(place);
    const link = await HeldLink.start(Number(new URL(cosigner.environment["COSIGNER_URL"] ?? "").port));
    this.#links.push(link);
    const service = new MoneyService(this, place, { COSIGNER_URL: `tls://127.0.0.1:${link.port}` });
    await service.start();
    return Object.assign(service, { link });
  }

  /** The service with somebody else's signer, as `changes` name it. */
  async beginOutside(name: string, changes: Readonly<Record<string, string>>): Promise<MoneyService> {
    const service = new MoneyService(this, this.place(name), { CUSTODY_DIR: "", ...changes });
    await service.start();
    return service;
  }

  async stop(): Promise<void> {
    await this.clear();
    await this.bench.end();
    await Promise.all(this.#links.map((link) => link.stop()));
    this.bench.dispose();
    for (const blocks of this.blocks.values()) await blocks.stop();
    await Promise.all(this.allProxies.map((proxy) => proxy.stop()));
    await this.pair.stop();
    await this.world.stop();
  }

  #environment(): Readonly<Record<string, string>> {
    const { venueone, venuetwo, chains } = this.proxies;
    const ofChains = [...chains].flatMap(([chainId, { url }]) => [
      [`CHAIN_${chainId}_RPC_URLS`, url],
      [`CHAIN_${chainId}_CONFIRMATIONS`, String(CONFIRMATIONS)],
    ]);
    const vaults = WORLD_CHAIN_IDS.map((chainId) => {
      const { symbol, address, decimals, contract } = worldToken(chainId, "USDT");
      const resetsAllowance = contract === "OldToken";
      return { chainId, symbol, address, decimals, vault: WORLD[chainId].vault, resetsAllowance };
    });
    const { symbol, address, decimals } = worldToken(42161, "USDC");
    return {
      ...AMPLE_BUDGETS,
      ...Object.fromEntries(ofChains),
      ...{ VENUEONE_REST_URL: venueone.url, VENUETWO_REST_URL: venuetwo.url },
      ...{ VENUETWO_SPOT_URL: venuetwo.url, VENUETWO_WEB_URL: venuetwo.url },
      ...{ VENUETWO_AGENT_IP_WHITELIST: "127.0.0.1", VENUETWO_DEPOSIT_PAIRS: JSON.stringify(vaults) },
      VENUEONE_DEPOSIT_PAIRS: JSON.stringify([{ chainId: 42161, symbol, address, decimals, bridge }]),
      // A reply that a test holds up is not given up before the test is done with it.
      ...{ DEPOSIT_WAIT_MS: "120000", LOG_LEVEL: "info" },
    };
  }
}

/** What lies between it and its co-signer is the test's to hold. */
export type CosignedService = MoneyService & { readonly link: HeldLink };

/** One installation over all its lives. */
export class MoneyService {
  readonly place: CustodyPlace;
  readonly #stand: MoneyStand;
  readonly #signer: Readonly<Record<string, string>>;
  #process: ServeProcess | null = null;
  #key: MadeKey | null = null;
  #caller: WalletCaller | null = null;
  #making: Promise<unknown> = Promise.resolve();
  readonly #free: WalletFields[] = [];
  #lentCount = 0;

  constructor(stand: MoneyStand, place: CustodyPlace, signer: Readonly<Record<string, string>>) {
    this.#stand = stand;
    this.place = place;
    this.#signer = signer;
  }

  get caller(): WalletCaller {
    if (this.#caller === null) throw new Error("the service does not run");
    return this.#caller;
  }

  /** Of the running service, with a key of every scope. */
  get door(): { readonly url: string; readonly key: MadeKey } {
    if (this.#process === null || this.#key === null) throw new Error("the service does not run");
    return { url: this.#process.url, key: this.#key };
  }

  async start(): Promise<void> {
    const { bench } = this.#stand;
    this.#process = await bench.start(this.place, this.#signer);
    this.#key ??= await bench.createKey(this.place, SCOPES);
    this.#caller = bench.caller(this.#process, this.#key);
  }

  async kill(): Promise<void> {
    if (this.#process === null) return;
    await this.#stand.bench.stop(this.#process, "SIGKILL");
    this.#process = null;
    this.#caller = null;
  }

  /** A wallet with coins for gas on every chain. */
  async wallet(name: string): Promise<WalletFields> {
    // One after another: on a busy machine ten at once run out of the time that a session of the two parties has.
    const making = this.#making.then(() => madeWallet(this.caller, name));
    this.#making = making.catch(() => {});
    const wallet = await making;
    for (const chainId of WORLD_CHAIN_IDS) await this.#stand.world.setCoins(chainId, wallet.address as Hex, "1");
    return wallet;
  }

  /** A wallet with accounts and a key that nobody uses now: making one costs seconds where the machine is busy. */
  async borrowed(): Promise<WalletFields> {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const wallet = await this.wallet(`lent-${this.#lentCount++}`);
    const address = wallet.address.toLowerCase();
    const { venueone, venuetwo } = this.#stand.pair;
    venueone.addAccount({ address, deposit: PLENTY });
    venuetwo.addAccount({ accountId: address, wallet: address, deposit: PLENTY, spotDeposit: PLENTY });
    await this.register("venuetwo", wallet);
    return wallet;
  }

  /** With nothing under way. */
  giveBack(wallet: WalletFields): void {
    this.#free.push(wallet);
  }

  async register(venue: PairVenue, { walletId }: WalletFields): Promise<void> {
    const reply = await onceServed(() =>
      this.caller.post(`/api/trading/${venue}/apikey`, { walletIdOrAddress: walletId }),
    );
    if (reply.status !== 200) throw new Error(reply.text);
  }
}

/** Blocks of one chain, one after the other until `stop`. */
export class Blocks {
  readonly #chain: LocalChain;
  readonly #ended: Promise<void>;
  #isPaused = false;
  #isOver = false;
  #making: Promise<void> = Promise.resolve();

  constructor(chain: LocalChain) {
    this.#chain = chain;
    this.#ended = this.#run();
  }

  /** Resolves once no more come. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#making;
  }

  resume(): void {
    this.#isPaused = false;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      if (!this.#isPaused) {
        this.#making = this.#chain.mine();
        await this.#making;
      }
      await pause(BLOCK_MS);
    }
  }
}
