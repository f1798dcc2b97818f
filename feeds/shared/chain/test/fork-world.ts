/**
 * A chain with forks, seen by honest endpoints that lag, are on another branch, or keep receipts of blocks that were undone,
 * and by one that lies. Its rule is the chain's own promise: a block that was ever `confirmations` deep on the chain of an
 * honest endpoint stays in every chain from then on. The world moves between any two calls.
 */
import type { Random } from "../../../../engine/domain/random.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../../net/http.js";
import { toQuantity } from "../rpc-wire.js";
import { hashOf, SENDER } from "./scripted-chain.js";

export interface Block {
  readonly number: number;
  readonly hash: string;
  readonly parent: Block | null;
  /** The transaction of our nonce that it has: one of ours, or of another wallet's software. */
  readonly transaction: string | null;
  /** Whether our nonce is used in it or below. */
  readonly isUsed: boolean;
}

export const NONCE = 7;
export const HASHES: readonly string[] = [hashOf("first"), hashOf("dearer")];
const FOREIGN = hashOf("foreign");
const START_HEIGHT = 20;

export interface WorldOptions {
  readonly random: Random;
  readonly confirmations: number;
  readonly honestCount: number;
  readonly hasLiar: boolean;
}

/** The honest ones' tips, and what each says of undone blocks. */
interface HonestNode {
  tip: Block;
  /** It still gives receipts of blocks that it left. */
  keepsReceipts: boolean;
  readonly left: Map<string, Block>;
}

export class ForkWorld {
  /** How often the chain went on from another branch. */
  reorgCount = 0;
  readonly #options: WorldOptions;
  readonly #honest: HonestNode[] = [];
  #tip: Block;
  #side: Block | null = null;
  #settled: Block;
  #serial = 0;
  #isCalm = false;
  /** Which of our transactions are in a pool. */
  readonly #waiting = new Set<string>();

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#tip = block(null, 0, "genesis", null);
    for (let height = 1; height <= START_HEIGHT; height++) this.#tip = this.#next(this.#tip, null);
    this.#settled = this.#tip;
    for (let index = 0; index < options.honestCount; index++)
      this.#honest.push({ tip: this.#tip, keepsReceipts: options.random.next() < 0.5, left: new Map() });
  }

  get nodeCount(): number {
    return this.#honest.length + (this.#options.hasLiar ? 1 : 0);
  }

  /** The liar is the first, who is asked and shown first. */
  nodes(): VenueHttp[] {
    const honest = this.#honest.map((node) => this.#http((method, params) => this.#honestly(node, method, params)));
    return this.#options.hasLiar ? [this.#http((method, params) => this.#lie(method, params)), ...honest] : honest;
  }

  /** Our transaction in the chain that holds, if one is. */
  minedBlock(): Block | null {
    return walk(this.#tip, (at) => at.transaction !== null && HASHES.includes(at.transaction));
  }

  holds(blockHash: string): boolean {
    return walk(this.#tip, (at) => at.hash === blockHash) !== null;
  }

  /** One thing happens. */
  step(): void {
    const draw = this.#below(10);
    if (draw < 2) this.#extend();
    else if (draw < 5) this.#fork();
    else if (draw < 7) this.#reorg();
    else this.#moveNode();
    if (this.#below(8) === 0) this.#waiting.add(this.#ours());
  }

  /** Nothing moves any more, all that was in a block is deep, and every honest endpoint has arrived. */
  settle(): void {
    this.#isCalm = true;
    for (let count = 0; count <= 3 * this.#options.confirmations; count++) {
      for (const node of this.#honest) this.#move(node, this.#tip);
      this.#adopt(this.#next(this.#tip, null));
    }
    for (const node of this.#honest) node.keepsReceipts = false;
  }

  /** Whether our nonce is used in the chain that holds. */
  get isUsed(): boolean {
    return this.#tip.isUsed;
  }

  #extend(): void {
    this.#adopt(this.#next(this.#tip, this.#draw()));
  }

  /** Blocks beside the chain, of which it may become one. */
  #fork(): void {
    if (this.#side === null) {
      const back = this.#below(this.#options.confirmations) + 1;
      const from = ancestor(this.#tip, this.#tip.number - back);
      if (!contains(from, this.#settled)) return;
      this.#side = this.#next(from, this.#draw());
    } else if (contains(this.#side, this.#settled)) this.#side = this.#next(this.#side, this.#draw());
    else this.#side = null;
    // Built unseen, as high as the chain.
    while (this.#side !== null && this.#side.number < this.#tip.number)
      this.#side = this.#next(this.#side, this.#draw());
  }

  #reorg(): void {
    const side = this.#side;
    if (side === null || side.number < this.#tip.number) return;
    const before = this.#tip;
    this.#adopt(side);
    if (this.#tip === side) this.reorgCount++;
    // Some hear of it at once.
    for (const node of this.#honest) if (this.#below(2) === 0) this.#move(node, this.#tip);
    // The branch that was left may win it back.
    this.#side = this.#tip === side ? before : null;
  }

  #moveNode(): void {
    const node = this.#honest[this.#below(this.#honest.length)];
    if (node === undefined) return;
    const target = this.#side !== null && this.#below(2) === 0 ? this.#side : this.#tip;
    const height = Math.max(0, target.number - (this.#below(3) === 0 ? this.#below(8) : 0));
    this.#move(node, ancestor(target, height));
    if (this.#below(6) === 0) node.keepsReceipts = !node.keepsReceipts;
  }

  #adopt(tip: Block): void {
    if (this.#holdsWith(tip, [tip, ...this.#honest.map((node) => node.tip)])) this.#tip = tip;
  }

  #move(node: HonestNode, tip: Block): void {
    const others = this.#honest.filter((other) => other !== node).map((other) => other.tip);
    if (!this.#holdsWith(this.#tip, [this.#tip, tip, ...others])) return;
    for (let at: Block | null = node.tip; at !== null && !contains(tip, at); at = at.parent)
      if (at.transaction !== null) node.left.set(at.transaction, at);
    node.tip = tip;
  }

  /**
   * Whether these may be the tips of all, `common` that of the chain: what is deep on any of them must be in the common
   * chain, and nobody may be beside it. If so, that is settled from now on.
   */
  #holdsWith(common: Block, tips: readonly Block[]): boolean {
    const deep = tips.map((tip) => ancestor(tip, tip.number - this.#options.confirmations + 1));
    const settled = deep.reduce((best, one) => (one.number > best.number ? one : best), this.#settled);
    const isOne = [this.#settled, ...deep].every((one) => contains(settled, one));
    const isBeside = tips.some((tip) => !contains(tip, settled) && !contains(settled, tip));
    if (!isOne || isBeside || !contains(common, settled)) return false;
    this.#settled = settled;
    return true;
  }

  #draw(): string | null {
    const draw = this.#below(9);
    return draw < 2 ? FOREIGN : draw < 4 ? this.#ours() : null;
  }

  #ours(): string {
    return HASHES[this.#below(HASHES.length)] ?? "";
  }

  #next(parent: Block, transaction: string | null): Block {
    return block(parent, parent.number + 1, `block ${++this.#serial}`, parent.isUsed ? null : transaction);
  }

  #below(bound: number): number {
    return Math.floor(this.#options.random.next() * bound);
  }

  #http(answer: (method: string, params: readonly unknown[]) => unknown): VenueHttp {
    return {
      request: async ({ body }: HttpRequest): Promise<HttpResult> => {
        const { id, method, params } = JSON.parse(body ?? "") as { id: number; method: string; params: unknown[] };
        await Promise.resolve();
        if (!this.#isCalm && this.#below(12) === 0) this.step();
        if (!this.#isCalm && this.#below(25) === 0) return { kind: "noResponse", reason: "TIMEOUT" };
        const text = JSON.stringify({ jsonrpc: "2.0", id, result: answer(method, params) });
        return { kind: "response", status: 200, headers: {}, body: text, sentAtMs: 0, receivedAtMs: 0 };
      },
    };
  }

  #honestly(node: HonestNode, method: string, params: readonly unknown[]): unknown {
    const [subject, tag] = params;
    const found = (): Block | null =>
      walk(node.tip, (at) => at.transaction === subject) ??
      (node.keepsReceipts ? (node.left.get(String(subject)) ?? null) : null);
    switch (method) {
      case "eth_chainId":
        return "0x38";
      case "eth_blockNumber":
        return toQuantity(node.tip.number);
      case "eth_getBlockByNumber":
        return blockAnswer(node.tip, Number(subject));
      case "eth_getTransactionCount": {
        const at = tag === "latest" ? node.tip : ancestor(node.tip, Number(tag));
        return toQuantity(at.isUsed ? NONCE + 1 : NONCE);
      }
      case "eth_getTransactionReceipt": {
        const at = found();
        return at === null ? null : receipt(String(subject), at.number, at.hash);
      }
      case "eth_getTransactionByHash": {
        const at = found();
        if (at !== null) return { hash: subject, blockHash: at.hash };
        // A pool drops what its chain has used the nonce of.
        const isWaiting = !node.tip.isUsed && this.#waiting.has(String(subject));
        return isWaiting ? { hash: subject, blockHash: null } : null;
      }
      default:
        throw new Error(`the world knows no ${method}`);
    }
  }

  /** Whatever would bring about most: heights without end, receipts that are not, receipts withheld, nonces used. */
  #lie(method: string, params: readonly unknown[]): unknown {
    const [subject] = params;
    const mood = this.#below(3);
    switch (method) {
      case "eth_chainId":
        return "0x38";
      case "eth_blockNumber":
        return toQuantity(this.#tip.number + 1_000);
      case "eth_getBlockByNumber":
        return { number: String(subject), hash: hashOf(`lie ${Number(subject)}`), baseFeePerGas: "0x0" };
      case "eth_getTransactionCount":
        return toQuantity(NONCE + 1);
      case "eth_getTransactionReceipt": {
        if (mood === 0) return null;
        const height = this.minedBlock()?.number ?? this.#tip.number;
        return receipt(String(subject), height, hashOf(`lie ${height}`));
      }
      default:
        return null;
    }
  }
}

function block(parent: Block | null, number: number, name: string, transaction: string | null): Block {
  return { number, hash: hashOf(name), parent, transaction, isUsed: parent?.isUsed === true || transaction !== null };
}

function walk(from: Block, is: (at: Block) => boolean): Block | null {
  for (let at: Block | null = from; at !== null; at = at.parent) if (is(at)) return at;
  return null;
}

/** Of that height; the tip or the first block where there is none. */
function ancestor(tip: Block, height: number): Block {
  let at = tip;
  while (at.number > height && at.parent !== null) at = at.parent;
  return at;
}

function contains(tip: Block, other: Block): boolean {
  return tip.number >= other.number && ancestor(tip, other.number) === other;
}

function blockAnswer(tip: Block, height: number): unknown {
  if (height > tip.number) return null;
  return { number: toQuantity(height), hash: ancestor(tip, height).hash, baseFeePerGas: "0x0" };
}

function receipt(hash: string, height: number, blockHash: string): unknown {
  return {
    ...{ transactionHash: hash, blockHash, blockNumber: toQuantity(height), from: SENDER, status: "0x1" },
    ...{ gasUsed: "0x5208", effectiveGasPrice: "0x1", logs: [] },
  };
}
