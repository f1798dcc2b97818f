/**
 * What money moves in: three local chains with blocks on command, the two venues that take and pay it, and wallets with
 * money on all of them. It outlives every life of the service.
 */
import { createHash } from "node:crypto";
import { type Hex, parseUnits } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { ChainKey, ChainSender, nextNonce } from "../../../sim/chain/chain-account.js";
import { CONTRACTS } from "../../../sim/chain/contracts/artifacts.js";
import { type ChainWorld, startChainWorld } from "../../../sim/chain/world.js";
import { DEPLOYER_KEY, WORLD, WORLD_CHAIN_IDS, type WorldChainId, worldToken } from "../../../sim/chain/world-plan.js";
import { startVenueoneSim, type VenueoneSim } from "../../../sim/venueone/sim.js";
import { startVenuetwoSim, type VenuetwoSim } from "../../../sim/venuetwo/sim.js";
import { WorldTime } from "./world-time.js";

/** Blocks that make a transaction final, to the service and to the venues; reorgs here are never so deep. */
export const CONFIRMATIONS = 3;
export const REORG_MAX = CONFIRMATIONS - 1;
/** The venues look at the chains where a run calls for it, and never by themselves. */
const POLL_MS = 30 * 86_400_000;
/** Vault and bridge own so many whole tokens at the start: who takes out more is not paid, and gets it back. */
const RESERVE = "100000";
export const OVER_RESERVE = 600_000;
const SETTLED_BLOCKS = 40;
const NO_LIMIT = 1_000_000_000;

export interface MoneyWallet {
  readonly walletId: string;
  /** Lower case. */
  readonly address: Hex;
  readonly privateKey: Hex;
  /** Of its account at venuetwo. */
  readonly credentials: { readonly apiKey: string; readonly apiSecret: string; readonly walletAddress: string };
  /** It has far more at the venues than vault and bridge own. */
  readonly isRich: boolean;
}

/** What somebody else sent with a wallet's key. */
export interface OutsideSend {
  readonly chainId: WorldChainId;
  readonly from: Hex;
  readonly hash: Hex;
}

export class MoneyWorld {
  readonly time: WorldTime;
  readonly chains: ChainWorld;
  readonly venueone: VenueoneSim;
  readonly venuetwo: VenuetwoSim;
  readonly outside: OutsideSend[] = [];
  /** Blocks of each chain, as they were made here. */
  readonly heights = new Map<WorldChainId, number>();

  constructor(time: WorldTime, chains: ChainWorld, venueone: VenueoneSim, venuetwo: VenuetwoSim) {
    this.time = time;
    this.chains = chains;
    this.venueone = venueone;
    this.venuetwo = venuetwo;
  }

  async stop(): Promise<void> {
    await Promise.all([this.venueone.stop(), this.venuetwo.stop()]);
    await this.chains.stop();
    this.time.stop();
  }

  /** Wallets that nobody has used before; the label makes their keys. */
  async wallets(label: string, count: number): Promise<MoneyWallet[]> {
    const wallets = Array.from({ length: count }, (_, index) => this.#open(`${label}/${index}`, index));
    for (const chainId of WORLD_CHAIN_IDS) {
      const { rpc } = this.chains.chain(chainId);
      const minter = new ChainSender(new ChainKey(DEPLOYER_KEY, chainId), rpc);
      for (const { address } of wallets) {
        await this.chains.setCoins(chainId, address, "1000");
        for (const token of Object.values(WORLD[chainId].tokens))
          await minter.call({
            ...{ to: token.address, abi: CONTRACTS[token.contract].abi, functionName: "mint" },
            args: [address, parseUnits("10000", token.decimals)],
          });
      }
      // Below what any reorg takes away, and what an endpoint may be behind.
      await this.mine(chainId, SETTLED_BLOCKS);
      await this.seeHeight(chainId);
    }
    return wallets;
  }

  async mine(chainId: WorldChainId, blocks = 1): Promise<void> {
    await this.chains.chain(chainId).mine(blocks);
    this.heights.set(chainId, (this.heights.get(chainId) ?? 0) + blocks);
  }

  async seeHeight(chainId: WorldChainId): Promise<void> {
    this.heights.set(chainId, Number(await this.chains.chain(chainId).rpc("eth_blockNumber")));
  }

  /** Both venues look at their chains now. */
  async look(): Promise<void> {
    await this.venueone.room.bridge?.treasury.poll();
    await this.venuetwo.room.money.treasury?.poll();
  }

  /** Somebody with the same key sends nothing to himself, dearly. */
  async sendOutside({ privateKey, address }: MoneyWallet, chainId: WorldChainId): Promise<void> {
    const { rpc } = this.chains.chain(chainId);
    const key = new ChainKey(privateKey, chainId);
    const latest = Number(await rpc("eth_getTransactionCount", [address, "latest"]));
    const waiting = await nextNonce(rpc, key.address);
    // Where one waits, it is replaced.
    const { raw, hash } = await key.sign({ to: key.address, data: "0x" }, Math.min(latest, waiting));
    await rpc("eth_sendRawTransaction", [raw]).catch(() => null);
    this.outside.push({ chainId, from: address, hash });
  }

  /** Hundredths of a percent that the token of chain 1 keeps of each move. */
  async keepOfMoves(basisPoints: bigint): Promise<void> {
    const token = worldToken(1, "USDT");
    const sender = new ChainSender(new ChainKey(DEPLOYER_KEY, 1), this.chains.chain(1).rpc);
    await sender.call({
      ...{ to: token.address, abi: CONTRACTS.OldToken.abi, functionName: "setFee", args: [basisPoints] },
    });
    await this.mine(1, 1);
  }

  #open(label: string, index: number): MoneyWallet {
    const privateKey = hashOf(`wallet/${label}`);
    const address = privateKeyToAccount(privateKey).address.toLowerCase() as Hex;
    const isRich = index === 0;
    const deposit = isRich ? "5000000" : "2000";
    const agentKey = hashOf(`agent/${label}`);
    const apiKey = hashOf(`key/${label}`).slice(2);
    const apiSecret = hashOf(`secret/${label}`).slice(2);
    this.venuetwo.addAccount({ accountId: address, deposit, spotDeposit: deposit, apiKey, apiSecret, wallet: address });
    // Every other account there begins with its first deposit.
    if (index % 2 === 0) this.venueone.addAccount({ address, deposit });
    const agent = privateKeyToAccount(agentKey).address;
    const terms = { name: "unwind-1", expiresMs: 4_900_000_000_000, ipWhitelist: "127.0.0.1", canWithdraw: true };
    this.venuetwo.room.keys.approve(address, agent.toLowerCase(), terms);
    const own = index % 3 === 0 ? { apiKey, apiSecret } : { apiKey: agent, apiSecret: agentKey };
    const id = hashOf(`id/${label}`).slice(2);
    const walletId = `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-8${id.slice(17, 20)}-${id.slice(20, 32)}`;
    return { walletId, address, privateKey, credentials: { ...own, walletAddress: address }, isRich };
  }
}

export async function startMoneyWorld(seed: number): Promise<MoneyWorld> {
  const chains = await startChainWorld({ mining: { kind: "manual" }, reserve: RESERVE });
  const time = new WorldTime();
  const common = { seed, clock: time.clock, flow: null };
  const options = { rpcUrls: chains.rpcUrls, confirmations: CONFIRMATIONS, pollMs: POLL_MS };
  const venueone = await startVenueoneSim({
    ...{ ...common, symbols: ["BTC"], chains: options },
    limits: { ipWeightPerMinute: NO_LIMIT, addressRequests: NO_LIMIT },
  });
  const venuetwo = await startVenuetwoSim({
    ...{ ...common, symbols: ["BTCUSDT"], listsOthers: false, chains: options },
    limits: { weightPerMinute: NO_LIMIT },
  });
  // Whether the venue takes a withdrawal's number twice is not known; the worse is played.
  venuetwo.room.money.change({ repeatedNonce: "accept" });
  const world = new MoneyWorld(time, chains, venueone, venuetwo);
  for (const chainId of WORLD_CHAIN_IDS) await world.seeHeight(chainId);
  return world;
}

function hashOf(text: string): Hex {
  return `0x${createHash("sha256").update(`money/${text}`).digest("hex")}`;
}
