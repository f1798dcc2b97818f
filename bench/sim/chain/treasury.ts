/**
 * What a local venue has on its chains: it hears of deposits and pays withdrawals out. It knows the chains by their
 * URLs alone, so venues and chains may run in different processes.
 */
import { encodeAbiParameters, type Hex, keccak256 } from "viem";
import { ChainKey, type ContractCall } from "./chain-account.js";
import { chainRpc } from "./chain-rpc.js";
import { CONTRACTS } from "./contracts/artifacts.js";
import { bridgeDeposits, vaultDeposits } from "./deposit-sources.js";
import { type ChainDeposit, DepositWatcher } from "./deposit-watcher.js";
import { Faucet, type WorldUrls } from "./faucet.js";
import { type Payout, PayoutDesk } from "./payout-desk.js";
import { BRIDGE_OPERATOR_KEY, VAULT_OPERATOR_KEY, WORLD, type WorldChainId, worldToken } from "./world-plan.js";

/** The chains of a local venue, as its options name them. */
export interface VenueChains {
  /** By chain id; those of `ChainWorld.rpcUrls`. */
  readonly rpcUrls: WorldUrls;
  /** Blocks from that of a transaction to the newest, both counted, before it counts. Default 1. */
  readonly confirmations?: number;
  /** How often the venue looks. Default 100 ms. */
  readonly pollMs?: number;
}

const POLL_MS = 100;

export interface TreasuryListener {
  onDeposit(deposit: ChainDeposit): void;
  onPayoutEnd(payout: Payout): void;
}

export interface PayoutRequest {
  /** The venue's own name of it. */
  readonly reference: string;
  /** As the contract keeps it: of the vault's payouts, or the nonce of the user's action at the bridge. */
  readonly id: bigint;
  readonly chainId: WorldChainId;
  readonly token: string;
  readonly user: Hex;
  readonly destination: Hex;
  /** In the token's smallest unit. */
  readonly amount: bigint;
  readonly fee: bigint;
}

interface Post {
  readonly watcher: DepositWatcher;
  readonly desk: PayoutDesk;
}

export class Treasury {
  /** Makes money for who wants to try the venue. */
  readonly faucet: Faucet;
  /** What the venue does at intervals for it. */
  readonly timers: readonly { readonly everyMs: number; run(): void }[];
  readonly #kind: "vault" | "bridge";
  readonly #posts = new Map<WorldChainId, Post>();
  #last: Promise<void> = Promise.resolve();
  #looks = 0;
  /** Why the chains were not read, of the newest look that failed; null after one that did not. */
  problem: string | null = null;

  /** Chains where the venue has no such thing are left out. */
  constructor(kind: "vault" | "bridge", chains: VenueChains, listener: TreasuryListener) {
    const { rpcUrls, confirmations = 1, pollMs = POLL_MS } = chains;
    this.#kind = kind;
    this.timers = [{ everyMs: pollMs, run: () => this.#pollUnlessBusy() }];
    this.faucet = new Faucet(rpcUrls);
    for (const [id, url] of Object.entries(rpcUrls)) {
      const chainId = Number(id) as WorldChainId;
      if (kind === "bridge" && WORLD[chainId].bridge === null) continue;
      const rpc = chainRpc(url);
      const common = { chainId, rpc, confirmations };
      const source = kind === "vault" ? vaultDeposits(chainId) : bridgeDeposits(chainId);
      const key = new ChainKey(kind === "vault" ? VAULT_OPERATOR_KEY : BRIDGE_OPERATOR_KEY, chainId);
      this.#posts.set(chainId, {
        watcher: new DepositWatcher({ ...common, source, onDeposit: (deposit) => listener.onDeposit(deposit) }),
        desk: new PayoutDesk({ ...common, key, onEnd: (payout) => listener.onPayoutEnd(payout) }),
      });
    }
  }

  serves(chainId: number): chainId is WorldChainId {
    return this.#posts.has(chainId as WorldChainId);
  }

  /** Deposits that are not deep enough. */
  get pending(): readonly ChainDeposit[] {
    return [...this.#posts.values()].flatMap(({ watcher }) => watcher.pending);
  }

  /** Payouts that have not ended. */
  get open(): readonly Payout[] {
    return [...this.#posts.values()].flatMap(({ desk }) => desk.open);
  }

  /** Whether payouts wait. */
  hold(isHolding: boolean): void {
    for (const { desk } of this.#posts.values()) desk.isHolding = isHolding;
  }

  /** Throws RangeError where the venue has nothing on that chain, or the chain no such token. */
  pay(request: PayoutRequest): void {
    const post = this.#posts.get(request.chainId);
    if (post === undefined) throw new RangeError(`nothing on chain ${request.chainId}`);
    post.desk.pay(request.reference, this.#kind === "vault" ? vaultCalls(request) : bridgeCalls(request));
  }

  /** Looks at every chain once, after the look that may be under way. A chain that does not answer is the `problem`. */
  poll(): Promise<void> {
    this.#looks += 1;
    this.#last = this.#last
      .then(() => this.#look())
      .finally(() => {
        this.#looks -= 1;
      });
    return this.#last;
  }

  get isBusy(): boolean {
    return this.#looks > 0;
  }

  /** A slow look is not followed by all that it delayed. */
  #pollUnlessBusy(): void {
    if (!this.isBusy) void this.poll();
  }

  async #look(): Promise<void> {
    const looks = await Promise.allSettled(
      [...this.#posts.values()].map(async ({ watcher, desk }) => {
        await watcher.poll();
        await desk.poll();
      }),
    );
    const failed = looks.find((look) => look.status === "rejected");
    this.problem = failed === undefined ? null : String(failed.reason);
  }
}

function vaultCalls({ id, chainId, token, destination, amount, fee }: PayoutRequest): ContractCall[] {
  const args = [id, destination, worldToken(chainId, token).address, amount, fee];
  return [{ to: WORLD[chainId].vault, abi: CONTRACTS.Vault.abi, functionName: "withdraw", args }];
}

function bridgeCalls({ id, chainId, user, destination, amount }: PayoutRequest): ContractCall[] {
  const to = WORLD[chainId].bridge;
  if (to === null) throw new RangeError(`no bridge on chain ${chainId}`);
  const { abi } = CONTRACTS.Bridge;
  return [
    {
      ...{ to, abi, functionName: "batchedRequestWithdrawals" },
      args: [[{ user, destination, usd: amount, nonce: id }]],
    },
    {
      ...{ to, abi, functionName: "batchedFinalizeWithdrawals" },
      args: [[bridgeMessage({ user, destination, amount, id })]],
    },
  ];
}

/** As the bridge makes it. */
function bridgeMessage({
  user,
  destination,
  amount,
  id,
}: Pick<PayoutRequest, "user" | "destination" | "amount" | "id">) {
  const types = ["string", "address", "address", "uint64", "uint64"].map((type) => ({ type }));
  return keccak256(encodeAbiParameters(types, ["requestWithdrawal", user, destination, amount, id]));
}
